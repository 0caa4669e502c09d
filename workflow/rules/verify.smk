rule verify:
    input:
        partition=stage_path("partition", "partition.parquet"),
        weights=variant_files,
        data=dataset_files,
    output:
        [stage_path("verify", file) for file in paths.FILES["verify"]],
    log:
        stage_path("verify", "log.txt"),
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("verify"),
        code=stage_code("verify"),
        variants=variant_names,
    shell:
        "{PY:q} -m sifu verify --variants {params.variants} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
