# From a config to results, one direction: partition (-> search) -> train -> unlearn -> verify -> report.
#
# results/<stage>/<scenario>[/<part>]/<block>/<table>.parquet    tables, see docs/results.md
# results/<stage>/<scenario>[/<part>]/<block>/log.txt            what the stage printed
# results/report/{tables,figures}/                                  what people read
# <part> is a variant, a change or a search; <block> a range of seeds, such as s000-009. All paths are made by sifu/store/paths.py.
#
# `snakemake --cores 4` runs config/config.yaml; `--configfile config/paper.yaml` another plan.
from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config/config.yaml"  # of this checkout, wherever Snakemake is started


include: "workflow/rules/common.smk"


for rules in PLAN.rules:

    include: rules


rule all:
    default_target: True
    input:
        TARGETS.everything(),


# jobs of this machine share one process that has imported the libraries: sifu/cli/warm.py
onstart:
    if workflow.local_exec and workflow.is_main_process:
        WARM.start()


onsuccess:
    WARM.stop()


onerror:
    WARM.stop()
