import dataclasses
from collections import Counter

import pytest

from seq2seq_cli.errors import DataError
from seq2seq_cli.evaluation.comparison import Comparison, check_same, compare
from seq2seq_cli.evaluation.ngrams import ngram_differences
from seq2seq_cli.evaluation.significance import Resampling
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput
from seq2seq_cli.evaluation.tables import latex_text, markdown_text, to_latex, to_markdown

OF = EvaluationSet(
    "small",
    ["a", "b b b b", "c", "d"],
    [["una casa roja"], ["dos casas", "dos hogares"], ["tres perros"], ["no"]],
)
BASELINE = SystemOutput("base_line & |co|", ["una casa", "dos hogares", "x", "no"])
BETTER = SystemOutput("better", ["una casa roja", "dos gatos", "tres perros", "no"])


@pytest.fixture(scope="module")
def compared() -> Comparison:
    words = Counter(a=1, b=20)
    return compare(OF, [BASELINE, BETTER, BASELINE], words, Resampling(20, 20, 1))


def test_sentences_with_the_largest_gain_and_loss_come_first(compared):
    better, same = compared.differences
    assert [each.number for each in better.gained] == [3, 1]
    assert [each.number for each in better.lost] == [2]
    assert better.gained[0].gain == pytest.approx(100)
    assert (better.better, better.worse, better.equal) == (2, 1, 1)
    assert (same.gained, same.lost, same.ngrams_gained) == ([], [], [])
    assert same.equal == 4


def test_groups_have_the_scores_of_each_system(compared):
    assert [(each.name, each.sentences) for each in compared.by_length] == [
        ("0-3 words", 3),
        ("4-6 words", 1),
    ]
    before, after, again = compared.by_length[0].chrf
    assert before == again < after
    assert [each.sentences for each in compared.by_rarest_word] == [2, 1, 1]


def test_a_system_does_not_differ_from_itself(compared):
    for metric in compared.metrics:
        baseline, _, again = metric.systems
        assert again.score == baseline.score
        assert again.bootstrap_p < 0.05  # as sacreBLEU has it
        assert not again.is_significant


def test_matched_ngrams_are_counted_at_most_as_often_as_in_a_reference():
    references = [["the cat sat", "a cat sat"], ["the dog"]]
    gained, lost = ngram_differences(["the the the", "dog"], ["a cat", "the the"], references)
    assert {each.ngram: (each.baseline, each.system) for each in gained} == {
        "a": (0, 1),
        "cat": (0, 1),
        "a cat": (0, 1),
    }
    assert {each.ngram: (each.baseline, each.system) for each in lost} == {"dog": (1, 0)}


def test_ngrams_of_chinese_are_characters():
    gained, lost = ngram_differences(["他很坏"], ["我很好"], [["我很好"]])
    assert {each.ngram for each in gained} == {"我", "好", "我 很", "很 好", "我 很 好"}
    assert lost == []


def test_ngrams_with_the_largest_share_come_first():
    references = [["a b"]] * 5
    gained, _ = ngram_differences(["b"] * 4 + ["x"], ["a b"] * 5, references, most=2)
    assert [each.ngram for each in gained] == ["a b", "a"]


def test_systems_of_other_sources_are_refused_with_the_reason():
    check_same(OF, "A", OF, "B")
    shorter = EvaluationSet("x", OF.sources[:3], OF.references[:3])
    with pytest.raises(DataError, match="A has 4 sentences, and B 3"):
        check_same(OF, "A", shorter, "B")
    other = EvaluationSet("x", ["a", "b", "z", "y"], OF.references)
    with pytest.raises(DataError, match="3 sources differ, the first in sentence 2: 'b b b b' and"):
        check_same(OF, "A", other, "B")
    references = EvaluationSet("x", OF.sources, [*OF.references[:3], ["sí"]])
    with pytest.raises(DataError, match=r"1 references differ, .* sentence 4: \['no'\] and"):
        check_same(OF, "A", references, "B")


def test_markdown_has_a_row_for_each_system_and_no_markup_in_names(compared):
    table = to_markdown(compared)
    rows = [line for line in table.split("\n") if line.startswith("| ")]
    assert rows[0] == "| system | BLEU | chrF | chrF++ | TER |"
    assert rows[2].startswith(r"| base\_line \& \|co\| | ")
    assert "± " in rows[3]
    assert f"`{compared.metrics[0].bootstrap_signature}`" in table
    assert markdown_text("<b>[x](y)`") == r"\<b\>\[x\](y)\`"


def trained(command: str | None, minutes: float) -> SystemOutput:
    return dataclasses.replace(BETTER, origin={"minutes": minutes, "command": command})


def test_tables_have_the_times_of_trainings_that_are_known(compared):
    assert "training" not in to_markdown(compared)
    found = compare(OF, [BASELINE, trained(None, 4.16)], None, Resampling(20, 20))
    head, _, first, second, *_ = to_markdown(found).split("\n")
    assert head == "| system | training | BLEU | chrF | chrF++ | TER |"
    assert first.split(" | ")[1] == ""
    assert second.split(" | ")[1] == "4:10 min"
    latex = to_latex(found)
    assert r"\begin{tabular}{lrrrrr}" in latex
    assert " & 4:10 min & " in latex


def test_tables_say_on_what_the_systems_were_trained():
    here, there = (
        dataclasses.replace(BETTER, origin={"minutes": 1.0, "trained_on": name})
        for name in ("CPU (x_y, 2 cores), bfloat16", "GPU")
    )
    table = to_markdown(compare(OF, [here, here], None, Resampling(20, 20)))
    size = "small: 4 sentences, 5 references. Trained on CPU (x\\_y, 2 cores), bfloat16."
    assert f"{size} ± gives the 95 % interval" in table
    assert "- better" not in table
    both = compare(OF, [here, there, BETTER], None, Resampling(20, 20))
    assert "small: 4 sentences, 5 references. ± gives the" in to_markdown(both)
    assert "- better: trained on CPU (x\\_y, 2 cores), bfloat16\n- better: trained on GPU\n\n" in (
        to_markdown(both)
    )
    assert "% system 2: better; trained on GPU\n% system 3: better\n" in to_latex(both)


def test_systems_are_named_by_their_commands_if_these_differ():
    dot, general = (trained(f"s2s train --attention {name}", 1.0) for name in ("dot", "general"))
    found = compare(OF, [dot, general], None, Resampling(20, 20))
    table = to_markdown(found)
    assert table.startswith("| command | training | BLEU ")
    assert "| `s2s train --attention general` | 1:00 min | " in table
    assert "differs from `s2s train --attention dot` by both tests" in table
    assert "- `s2s train --attention general`: better\n" in table
    latex = to_latex(found)
    assert r"\texttt{s2s train --attention dot} & 1:00 min & " in latex
    assert "% command 1: better\n" in latex
    for others in ([dot, dot], [dot, trained(None, 1.0)]):
        names = to_markdown(compare(OF, others, None, Resampling(20, 20)))
        assert names.startswith("| system | training |")
        assert "| better | 1:00 min |" in names
    escaped = trained("s2s train --data 'a|b`'", 1.0)
    table = to_markdown(compare(OF, [escaped, dot], None, Resampling(20, 20)))
    assert r"| s2s train --data 'a\|b\`' | 1:00 min |" in table


def test_latex_is_a_table_and_names_are_escaped(compared):
    lines = to_latex(compared).split("\n")
    assert r"\begin{tabular}{lrrrr}" in lines
    assert r"system & BLEU & chrF & chrF++ & TER \\" in lines
    assert any(line.startswith(r"base\_line \& |co| & ") for line in lines)
    assert latex_text("\\{}#") == r"\textbackslash{}\{\}\#"


def test_significance_is_marked():
    references = [[f"palabra{i} otra{i} cosa{i} más{i}"] for i in range(20)]
    test_set = EvaluationSet("x", [""] * 20, references)
    wrong = SystemOutput("wrong", [f"palabra{i} otra{i} x y" for i in range(20)])
    right = SystemOutput("right", [texts[0] for texts in references])
    found = compare(test_set, [wrong, right], None, Resampling(100, 100))
    assert found.by_rarest_word == []
    rows = to_markdown(found).split("\n")
    assert rows[3].count("\\*") == 4
    assert rows[2].count("\\*") == 0
    assert to_latex(found).count("$^{*}$") == 4
