rule alpha:
    input:
        partition=stage_path("partition", "partition.parquet"),
        history=stage_path("train", "history.safetensors"),
        data=dataset_files,
    output:
        stage_path("alpha", "alpha.parquet"),
    log:
        stage_path("alpha", "log.txt"),
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("alpha"),
        code=stage_code("alpha"),
    shell:
        "{PY:q} -m sifu alpha " + BLOCK_OPTIONS + DEVICE_OPTIONS
