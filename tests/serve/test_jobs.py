"""The queue of calibrations: cancelled, listed, and told after a restart."""

from __future__ import annotations

import asyncio
import threading

from prism_audio.serve.job import Job
from prism_audio.serve.jobs import Jobs
from tests.helpers.bands import BandEncoder
from tests.helpers.service import calibrate, clips, finished, form


class Held(BandEncoder):
    """Embeds nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def embed_windows(self, windows):
        self.go.wait(20)
        return super().embed_windows(windows)


def test_closing_ends_a_job_that_fails_while_it_is_given_up():
    async def stubborn(job: Job) -> dict:
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("the folder is not empty")

    async def run() -> Job:
        jobs = Jobs(most_waiting=1, ended=lambda job: None)
        jobs.start()
        job = Job("yard", 1)
        with jobs.place() as submit:
            submit(job, stubborn)
        await asyncio.sleep(0.01)
        await asyncio.wait_for(jobs.close(), 10)
        return job

    asyncio.run(run())


def test_jobs_are_listed_and_cancelled(serve):
    encoder = Held()
    client = serve(encoder=encoder)
    urls = [
        client.post("/v1/calibrate", params={"site": name}, files=form(*clips(2))).json()["url"]
        for name in ("first", "second", "third")
    ]
    assert [job["site"] for job in client.get("/v1/jobs").json()["jobs"]] == [
        "first",
        "second",
        "third",
    ]
    for url in urls[:2]:  # one that runs, one that waits
        assert client.delete(url).json()["state"] == "cancelled"
    encoder.go.set()
    assert finished(client, urls[2])["state"] == "done"
    assert [client.get(url).json()["state"] for url in urls[:2]] == ["cancelled"] * 2
    assert client.get("/v1/sites/first").status_code == 404
    again = client.delete(urls[0])
    assert (again.status_code, again.json()["code"]) == (409, "job_ended")
    with client.stream("GET", f"{urls[0]}/events") as stream:
        assert "event: cancelled" in "".join(stream.iter_text())


def test_a_result_is_told_after_a_restart(serve):
    done = calibrate(serve(), "yard", clips(4))
    failed = calibrate(serve(), "yard", [("a.txt", b"no sound at all")])
    again = serve()
    for job in (done, failed):
        assert again.get(f"/v1/jobs/{job['job']}").json() == job
    assert [job["state"] for job in again.get("/v1/jobs").json()["jobs"]] == ["done", "failed"]
