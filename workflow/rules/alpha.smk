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


# trainings with other hyper-parameters, some of which never reach the target: only the table is kept
wildcard_constraints:
    change="|".join(SUITE.changes) or "none",


def change_settings(wildcards):
    scenario = SUITE.changed(wildcards.scenario, wildcards.change)
    return json.dumps(stages.relevant_settings("alpha_sweep", scenario), sort_keys=True)


def change_json(wildcards):
    return json.dumps(SUITE.changes[wildcards.change].change, sort_keys=True)


def alpha_sweep_files():
    return [
        str(
            paths.stage_folder(RUN.results, "alpha_sweep", scenario, block, change)
            / "alpha.parquet"
        )
        for scenario, change, block in SUITE.alpha_sweeps()
    ]


rule alpha_sweep:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        stage_path("alpha_sweep", "alpha.parquet", "{change}"),
    log:
        stage_path("alpha_sweep", "log.txt", "{change}"),
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=change_settings,
        code=stage_code("alpha_sweep"),
        change=change_json,
        rounds=rounds_option(RUN.alpha_sweep),
    shell:
        "{PY:q} -m sifu alpha_sweep --name {wildcards.change} --change {params.change:q} {params.rounds} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
