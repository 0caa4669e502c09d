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
        folder=stage_folder("partition"),
    shell:
        "{PY:q} -m sifu partition --scenario {wildcards.scenario} --block {wildcards.block} "
        "--scenarios {SCENARIOS:q} --data-root {DATA_ROOT:q} {DOWNLOAD} "
        "--out {params.folder:q} 2>&1 | tee {log:q} >&2"
