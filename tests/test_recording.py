import re

import recording

PROGRESS = [f"epoch 1  step {step}  loss 7.1" for step in range(10, 100, 10)]


def text_of(svg: str) -> str:
    return re.sub(r"<[^>]*>", "", svg).replace("&#160;", " ")


def test_some_lines_of_the_progress_are_drawn_and_all_other_lines():
    kept = recording.with_fewer_progress_lines("\n".join(["begin", *PROGRESS, "end", *PROGRESS]))
    assert kept.split("\n") == ["begin", *PROGRESS[::4], "end", *PROGRESS[::4]]


def test_the_picture_shows_commands_with_what_they_print():
    svg = recording.picture(
        [(["translate", "A b."], "\x1b[1;32mbest\x1b[0m\nC d."), (["eval"], "")]
    )
    lines = [line.strip() for line in text_of(svg).split("\n")]
    assert [line for line in lines if line and "{" not in line and ":" not in line][-4:] == [
        "$ s2s translate &quot;A b.&quot;",
        "best",
        "C d.",
        "$ s2s eval",
    ]
    assert "font-weight: bold" in svg


def test_the_picture_needs_no_network():
    svg = recording.picture([(["eval"], "x")])
    assert "@font-face" not in svg
    assert "url(http" not in svg


def test_the_picture_in_the_pages_has_the_commands():
    shown = text_of(recording.PICTURE.read_text("utf-8"))
    for arguments in recording.commands(2):
        assert f"$ s2s {arguments[0]}" in shown
