"""The examples of the paper as programs with data: section 5, and the rules of section 2.

Each has its streams, its program, the rows that come and, where the whole program is not just its
expressions, until when the oracle is asked. Times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from catena import tsa
from catena.tsa import _

Rows = list[dict[str, Any]]

SMOKE = tsa.stream("Smoke", {"time": "time", "area": "string", "konz": "int64"}, progressing="time")
FIRE_START = tsa.stream("FireStart", {"fid": "int64", "time": "time"}, progressing="time")
FIRE_END = tsa.stream("FireEnd", {"fid": "int64", "time": "time"}, progressing="time")


@dataclass(frozen=True)
class Example:
    """A program, its queries, and the rows of its inputs."""

    queries: tuple[tsa.Query, ...]
    rows: dict[str, Rows]
    until: int = 10_000


def static_data() -> Example:
    raw = tsa.stream("TRaw", {"sid": "int64", "time": "time", "temp": "int64"}, progressing="time")
    location = tsa.static("TLoc", {"sid": "int64", "area": "string"})
    temperature = tsa.query(
        "Temp",
        raw.prefix("t")
        .cross_join(location.prefix("l"))
        .filter(_.t.sid == _.l.sid)
        .select("t.sid", "t.time", "t.temp", "l.area")
        .drop_prefix("t")
        .drop_prefix("l"),
    )
    rows: dict[str, Rows] = {
        "TRaw": [{"sid": i % 3, "time": i, "temp": 20 + i * i % 7} for i in range(12)],
        "TLoc": [{"sid": 0, "area": "hall"}, {"sid": 1, "area": "track"}],
    }
    return Example((temperature,), rows)


def tumbling_windows() -> Example:
    raw = tsa.stream(
        "AFRaw", {"sid": "int64", "time": "time", "speed": "int64"}, progressing="time"
    )
    airflow = tsa.query(
        "Airflow",
        raw.mutate(time20sec=_.time.ceil(20))
        .group_by("sid", "time20sec")
        .aggregate(avgSpeed=_.speed.mean())
        .rename(time="time20sec", speed="avgSpeed"),
    )
    rows = [{"sid": i % 2, "time": i, "speed": i * i % 11} for i in range(0, 90, 3)]
    return Example((airflow,), {"AFRaw": rows})


def fires(count: int = 2) -> dict[str, Rows]:
    random = Random(3)
    return {
        "Smoke": [
            {"time": t, "area": random.choice(["hall", "track"]), "konz": random.randrange(50)}
            for t in range(0, 200, 7)
        ],
        "FireStart": [{"fid": i, "time": 20 + 55 * i} for i in range(count)],
        "FireEnd": [{"fid": i, "time": 50 + 110 * i} for i in range(count)],
    }


def sliding_windows(step: int = 10) -> Example:
    """From the start to 30 s after the end of a fire (the paper: an hour), in steps."""
    windows = tsa.stream(
        "Windows",
        {"start": "time", "end": "time"},
        where=[_.start == _.end - 20],
        progressing=["start", "end"],
    )
    first = FIRE_START.rename(end="time").mutate(start=_.end - 20).select("start", "end")
    later = (
        windows.prefix("w")
        .anti_join(FIRE_END.prefix("f"), _.w.start <= _.f.time + 30, _.f.time + 30 < _.w.end)
        .mutate(nstart=_.w.start + step, nend=_.w.end + step)
        .select(start="nstart", end="nend")
    )
    average = (
        SMOKE.prefix("s")
        .cross_join(windows.prefix("w"))
        .filter(_.w.start <= _.s.time, _.s.time <= _.w.end)
        .group_by("s.area", "w.end")
        .aggregate(avgKonz=_.s.konz.mean())
        .rename({"area": "s.area", "time": "w.end"})
    )
    queries = tsa.Query(windows, first), tsa.Query(windows, later), tsa.query("AvgSmoke", average)
    return Example(queries, fires())


def frames() -> Example:
    frame = tsa.query(
        "MaxSmoke",
        FIRE_START.prefix("fs")
        .cross_join(SMOKE.prefix("s"), FIRE_END.prefix("fe"))
        .filter(_.fs.time <= _.s.time, _.s.time <= _.fe.time)
        .filter(_.fe.time - _.fs.time >= 60, _.fs.fid == _.fe.fid)
        .group_by("fs.time", "fe.time", "s.area")
        .aggregate(maxConz=_.s.konz.max())
        .rename({"start": "fs.time", "end": "fe.time", "area": "s.area"}),
        progressing="end",
        where=[_.end - _.start >= 60],
    )
    return Example((frame,), fires())


def frame_fragments() -> Example:
    """Fragments of a minute, then what is left of the frame.

    One fire at a time: the paper's queries tell fires apart by their times only. Its first two
    operators read ⋉, but a fragment goes on while the fire has not ended: the anti-semi-join.
    """
    attributes = {"start": "time", "end": "time", "area": "string", "maxConz": "int64"}
    fragments = tsa.stream(
        "MaxSmokeFrag", attributes, where=[_.end - _.start >= 60], progressing="end"
    )
    ended = FIRE_END.prefix("fe")
    first = (
        FIRE_START.prefix("fs")
        .cross_join(SMOKE.prefix("s"))
        .filter(_.fs.time <= _.s.time, _.s.time < _.fs.time + 60)
        .anti_join(ended, _.fs.time <= _.fe.time, _.fe.time < _.fs.time + 60)
        .group_by("fs.time", "s.area")
        .aggregate(maxConz=_.s.konz.max())
        .rename({"start": "fs.time", "area": "s.area"})
        .mutate(end=_.start + 60)
    )
    going_on = fragments.prefix("fs").join(
        SMOKE.prefix("s"),
        _.fs.end <= _.s.time,
        _.s.time < _.fs.end + 60,
        _.fs.area == _.s.area,
    )
    later = (
        going_on.anti_join(ended, _.fs.end <= _.fe.time, _.fe.time < _.fs.end + 60)
        .group_by("fs.start", "fs.end", "fs.area", "fs.maxConz")
        .aggregate(newConz=_.s.konz.max())
        .mutate(end=_.fs.end + 60, maxConz=tsa.greatest(_["fs.maxConz"], _.newConz))
        .select("end", "maxConz", start="fs.start", area="fs.area")
    )
    last = (
        going_on.join(ended, _.fs.end <= _.fe.time, _.fe.time < _.fs.end + 60)
        .filter(_.s.time < _.fe.time)
        .group_by("fs.start", "fe.time", "fs.area", "fs.maxConz")
        .aggregate(newConz=_.s.konz.max())
        .mutate(maxConz=tsa.greatest(_["fs.maxConz"], _.newConz))
        .select("maxConz", start="fs.start", end="fe.time", area="fs.area")
    )
    frame = tsa.query("MaxSmoke", last, progressing="end")
    rows = fires(1)
    rows["FireEnd"] = [{"fid": 0, "time": 170}]
    return Example((tsa.Query(fragments, first), tsa.Query(fragments, later), frame), rows)


def missing_messages() -> Example:
    """Section 2, rule 1: malfunctioning since the first message that is missing, 10 s later."""
    sensor = tsa.stream("Temp", {"sid": "int64", "time": "time"}, progressing="time")
    silent = tsa.query(
        "Malfunction",
        sensor.prefix("t")
        .anti_join(
            sensor.prefix("n"),
            _.n.sid == _.t.sid,
            _.t.time < _.n.time,
            _.n.time <= _.t.time + 30,
        )
        .mutate(time=_.t.time + 10)
        .select("time", sid="t.sid"),
    )
    times = [(0, 0), (1, 2), (0, 10), (0, 20), (1, 12), (0, 60), (1, 80), (0, 70)]
    return Example((silent,), {"Temp": [{"sid": s, "time": t} for s, t in times]})


def _detections() -> tuple[tsa.Stream, dict[str, Rows]]:
    detection = tsa.stream("Detection", {"area": "string", "time": "time"}, progressing="time")
    found = [("hall", 10), ("track", 100), ("hall", 150), ("stairs", 160)]
    return detection, {"Detection": [{"area": a, "time": t} for a, t in found]}


def missing_reports() -> Example:
    """Section 2, rule 2: the alarm has the time of the detection."""
    detection, rows = _detections()
    report = tsa.stream("Report", {"area": "string", "time": "time"}, progressing="time")
    alarm = tsa.query(
        "Alarm",
        detection.prefix("d")
        .anti_join(
            report.prefix("r"),
            _.r.area == _.d.area,
            _.d.time <= _.r.time,
            _.r.time <= _.d.time + 120,
        )
        .drop_prefix("d"),
    )
    rows["Report"] = [{"area": "hall", "time": 60}, {"area": "track", "time": 230}]
    return Example((alarm,), rows)


def two_time_lines() -> Example:
    """Section 2: two minutes from the detection, in application time, to the report's reception,
    in system time, on which reports progress; their own time of sending says nothing."""
    detection, rows = _detections()
    report = tsa.stream(
        "Report", {"area": "string", "sent": "time", "received": "time"}, progressing="received"
    )
    alarm = tsa.query(
        "Alarm",
        detection.prefix("d")
        .anti_join(
            report.prefix("r"),
            _.r.area == _.d.area,
            _.d.time <= _.r.sent,
            _.r.received <= _.d.time + 120,
            _.d.time <= _.r.received,
        )
        .drop_prefix("d"),
    )
    rows["Report"] = [
        {"area": "hall", "sent": 60, "received": 90},
        {"area": "track", "sent": 130, "received": 240},
        {"area": "hall", "sent": 155, "received": 265},
    ]
    return Example((alarm,), rows)


EXAMPLES: dict[str, Callable[[], Example]] = {
    each.__name__: each
    for each in (
        static_data, tumbling_windows, sliding_windows, frames, frame_fragments,
        missing_messages, missing_reports, two_time_lines,
    )
}  # fmt: skip
