rule train:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        [stage_path("train", file) for file in paths.FILES["train"]],
    log:
        stage_path("train", "log.txt"),
    benchmark:
        stage_path("train", "benchmark.tsv")
    priority: 20  # most others wait for it
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        variant=variant_option,
        settings=stage_settings("train"),
        code=stage_code("train"),
    shell:
        "{PY:q} -m sifu train {params.variant} " + BLOCK_OPTIONS + DEVICE_OPTIONS


# a method that must have been there from the start: its federation is trained for it alone
use rule train as train_variant with:
    input:
        partition=stage_path("partition", "partition.parquet"),
        search=search_file,
        data=dataset_files,
    output:
        [
            stage_path("train", file, "{variant}")
            for file in paths.FILES["train_variant"]
        ],
    log:
        stage_path("train", "log.txt", "{variant}"),
    benchmark:
        stage_path("train", "benchmark.tsv", "{variant}")
