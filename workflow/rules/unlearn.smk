rule unlearn:
    input:
        partition=stage_path("partition", "partition.parquet"),
        history=stage_path("train", "history.safetensors"),
        data=dataset_files,
    output:
        [stage_path("unlearn", file) for file in paths.FILES["unlearn"]],
    log:
        stage_path("unlearn", "log.txt"),
    benchmark:
        stage_path("unlearn", "benchmark.tsv")
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("unlearn"),
        code=stage_code("unlearn"),
    shell:
        "{PY:q} -m sifu unlearn --variant {wildcards.variant} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
