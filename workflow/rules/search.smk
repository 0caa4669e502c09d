rule search:
    input:
        unpack(TARGETS.inputs("search")),
    output:
        TARGETS.outputs("search"),
    log:
        TARGETS.log("search"),
    priority: 15  # some wait for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("search"),
        settings=TARGETS.settings("search"),
        code=TARGETS.code("search"),
    shell:
        "{PY:q} -m sifu search" + BLOCK + DEVICE + LOGGED


# values of a scenario's settings: only the report reads what was found
rule scenario_search:
    input:
        unpack(TARGETS.inputs("scenario_search")),
    output:
        TARGETS.outputs("scenario_search"),
    log:
        TARGETS.log("scenario_search"),
    priority: 10  # long, and nothing waits for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("scenario_search"),
        settings=TARGETS.settings("scenario_search"),
        code=TARGETS.code("scenario_search"),
    shell:
        "{PY:q} -m sifu scenario_search" + BLOCK + DEVICE + LOGGED
