rule search:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        stage_path("search", "search.parquet", "{variant}"),
    log:
        stage_path("search", "log.txt", "{variant}"),
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("search"),
        values=search_settings,
        code=stage_code("search"),
    shell:
        "{PY:q} -m sifu search --variant {wildcards.variant} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
