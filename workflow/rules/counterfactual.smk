# the training without the clients of each request: every certificate is compared with it
rule counterfactual:
    input:
        unpack(TARGETS.inputs("counterfactual")),
    output:
        TARGETS.outputs("counterfactual"),
    log:
        TARGETS.log("counterfactual"),
    priority: 16  # some variants wait for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("counterfactual"),
        settings=TARGETS.settings("counterfactual"),
        code=TARGETS.code("counterfactual"),
    shell:
        "{PY:q} -m sifu counterfactual" + BLOCK + DEVICE + LOGGED
