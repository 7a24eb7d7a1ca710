"""The queue of calibrations by itself."""

import asyncio

from prism_audio.serve.jobs import Job, Jobs


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

    assert asyncio.run(run()).finished
