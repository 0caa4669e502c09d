rule partition:
    input:
        data=dataset_files,
    output:
        stage_path("partition", "partition.parquet"),
    log:
        stage_path("partition", "log.txt"),
    params:
        settings=stage_settings("partition"),
        code=stage_code("partition"),
    shell:
        "{PY:q} -m sifu partition {DOWNLOAD} " + BLOCK_OPTIONS + LOGGED
