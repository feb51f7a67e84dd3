from collections import Counter

from seq2seq_cli.evaluation.breakdown import by_length, by_rarest_word, count_words, score_groups
from seq2seq_cli.evaluation.metrics import score


def groups(found) -> dict[str, list[int]]:
    return {group.name: group.rows for group in found}


def test_sentences_are_grouped_by_words_of_the_source():
    sources = ["a b c", "a b c d", "", "a " * 40, "a " * 41, "a b c d e f"]
    assert groups(by_length(sources)) == {
        "0-3 words": [0, 2],
        "4-6 words": [1, 5],
        "26-40 words": [3],
        "41 words or more": [4],
    }


def test_sentences_are_grouped_by_their_rarest_word():
    training = count_words(["The cat!", *["the dog"] * 9, *["the"] * 90])
    assert training == {"the": 100, "cat": 1, "dog": 9}
    sources = ["The dog", "the", "a dog", "the cat.", "dog dog"]
    assert groups(by_rarest_word(sources, training + Counter(dog=1))) == {
        "never seen": [2],
        "seen 1-9 times": [3],
        "seen 10-99 times": [0, 4],
        "seen 100 times or more": [1],
    }


def test_each_group_has_scores_of_its_own():
    found = score_groups(
        by_length(["a", "a b c d"]), ["x", "one two three four"], [["y"], ["one two three four"]]
    )
    assert [(each.name, each.sentences) for each in found] == [("0-3 words", 1), ("4-6 words", 1)]
    assert found[0].chrf == 0
    assert found[1].bleu > 99.9


def test_all_groups_have_the_tokenizer_of_the_test_set():
    most, few = "我喜欢苹果和梨" * 9, "hello world, 我们很好"
    translations, references = [most, "hello world, 他们很好"], [[most], [few]]
    found = score_groups(by_length(["a", "a b c d"]), translations, references)
    of_all, of_group = (score(translations[1:], references[1:], name) for name in ("zh", "13a"))
    assert "|tok:zh|" in of_all.bleu_signature
    assert found[1].bleu == of_all.bleu != of_group.bleu
