"""What Helm and the schemas of Kubernetes say of a chart, as JSON: python helm_chart.py CHART < values.json"""

from __future__ import annotations

import json
import sys

import helm_python as helm
import kubernetes_validate
import yaml

# The oldest that the chart says it runs on, and the newest whose schemas there are.
VERSIONS = ("1.27", "1.37")
OTHERS = {"monitoring.coreos.com/v1"}  # their schemas are not Kubernetes' own


def main(folder: str) -> dict[str, object]:
    values = json.load(sys.stdin)
    said = {"helm": helm.helm_sdk_version(), "lint": helm.lint(folder, values), "documents": [], "faults": []}
    with helm.Chart.load(folder) as chart:
        try:
            files = chart.render(values, name="flows", namespace="flows")
        except helm.HelmError as error:
            return {**said, "refused": str(error)}
    for name, text in sorted(files.items()):
        if not name.endswith(".yaml"):
            continue
        for document in filter(None, yaml.safe_load_all(text)):
            said["documents"].append(document)
            said["faults"] += faults(document)
    return said


def faults(document: dict[str, object]) -> list[str]:
    found = []
    for version in VERSIONS if document["apiVersion"] not in OTHERS else ():
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{version} {document['kind']}: {error.message}")
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
