rule unlearn:
    input:
        partition=stage_path("partition", "partition.parquet"),
        training=stage_path("train", "cells.parquet"),
        history=history_file,
        search=search_file,
        data=dataset_files,
    output:
        [stage_path("unlearn", file, "{variant}") for file in paths.FILES["unlearn"]],
    log:
        stage_path("unlearn", "log.txt", "{variant}"),
    benchmark:
        stage_path("unlearn", "benchmark.tsv", "{variant}")
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
