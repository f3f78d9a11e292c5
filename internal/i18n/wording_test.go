package i18n

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A sentence begins with a capital or a name and ends with a full stop. A label begins with a capital and has no full
// stop. A fragment, which stands in a line with others, begins with a small letter and has none.
type form int

const (
	free form = iota
	sentence
	label
	fragment
)

// formOf is how the text of a key is written.
func formOf(key string) form {
	last := key[strings.LastIndexByte(key, '.')+1:]
	area, _, _ := strings.Cut(key, ".")
	switch {
	case area == "fault" && key != "fault.join.line.next", last == "long", area == "likely":
		return sentence
	case last == "short", area == "step", area == "phase", area == "col":
		return label
	case area == "change":
		return fragment
	}
	return free
}

// names begin a sentence with a small letter, as they are written.
var names = regexp.MustCompile(`^(deploy|etcd|kubectl|sudo|nginx|sshd|chmod|eggo|repomd\.xml|dns-vip|external-ca-path|` +
	`package-source\.type|loadbalance|schedule|containerd|kubelet|kube-\w+|systemd)\b`)

// wrongForm says what is wrong with how a text is written; "" if nothing is.
func wrongForm(lang Lang, key, text string) string {
	stopped := strings.HasSuffix(text, ".") || strings.HasSuffix(text, "。")
	small := text[0] >= 'a' && text[0] <= 'z' && !names.MatchString(text)
	want := formOf(key)
	switch {
	case want == sentence && !endsASentence(text):
		return "a sentence ends with a full stop"
	case (want == label || want == fragment) && stopped:
		return "a label ends without a full stop"
	case lang == English && (want == sentence || want == label) && small:
		return "begins with a small letter"
	case lang == English && want == free && small && strings.HasSuffix(text, "."):
		return "a full stop belongs to a sentence, which begins with a capital"
	}
	return ""
}

// command is what an advice may end with: something to type after a colon.
var command = regexp.MustCompile(`[:：] ?[^.。]*[\w}'"/-]$`)

func endsASentence(text string) bool {
	return strings.ContainsAny(text[len(text)-1:], ".!?") || slices.ContainsFunc([]string{"。", "！", "？", "…"},
		func(stop string) bool { return strings.HasSuffix(text, stop) }) || command.MatchString(text)
}

// banned words are patterns of words that have a better one.
var banned = map[Lang][]string{
	English: {`\(s\)`},
	Chinese: {`中断预算`, `法定多数`, `API 服务器`, `API server`},
}

// engineWords are banned in the texts of the engine: of faults, steps, phases, changes, notices.
var engineWords = regexp.MustCompile(`(?i)\b(mend|anew|go(es|ne)? on|left out|leave \w+ out|rehearsal|let in|` +
	`stands? in the way|proven?|judge|verdict|whoever|as it should be|cut off|broken off|authorit(y|ies)|` +
	`strangers?|unwell|sums|jump host|try again|take away)\b`)

var ofTheEngine = regexp.MustCompile(`^(fault|likely|step|phase|change|notice|drift|why|engine|journal|image|` +
	`addon|build)\.`)

// wrongWord is a word of a text that is not to occur; "" if there is none.
func wrongWord(lang Lang, key, text string) string {
	for _, word := range banned[lang] {
		if found := regexp.MustCompile(word).FindString(text); found != "" {
			return found
		}
	}
	if lang == English && ofTheEngine.MatchString(key) {
		return engineWords.FindString(strings.ReplaceAll(text, "{sums}", ""))
	}
	return ""
}

func TestMessagesAreWrittenByOneRule(t *testing.T) {
	for lang, texts := range map[Lang]map[string]string{English: catalog(English), Chinese: catalog(Chinese)} {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			text := texts[key]
			if text == "" {
				continue
			}
			if wrong := wrongForm(lang, key, text); wrong != "" {
				t.Errorf("%s %s: %s: %q", lang, key, wrong, text)
			}
			if word := wrongWord(lang, key, text); word != "" {
				t.Errorf("%s %s: the word %q is not to occur: %q", lang, key, word, text)
			}
		}
	}
}
