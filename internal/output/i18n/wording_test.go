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

// forms are how the texts are written whose keys match, the first that does; of others only the full stop is checked.
var forms = []struct {
	key  *regexp.Regexp
	form form
}{
	{regexp.MustCompile(`^(fault\.join\.line\.next|key\.head|template\.head|cli\.template\.written|` +
		`wizard\.field\.file)$|^key\.type\.`), free},
	{regexp.MustCompile(`^(fault|likely)\.|\.(long|explain)$|^wizard\.(about|hint)\.|^menu\.why\.|` +
		`^menu\..*\.what$`), sentence},
	{regexp.MustCompile(`\.short$|^(step|phase|col|bundle\.cli\.col|bundle\.group|ui\.verb|menu\.verb)\.|` +
		`^wizard\.(head|step|field|col)\.|` +
		`^cli\.(plan|signers)\.(add|remove|deploy|join|delete|cleanup|renew|restore)$`), label},
	{regexp.MustCompile(`^(change|why|drift|engine|addon|image|build|notice|key|template)\.|` +
		`^(ui|wizard)\.(key|state)\.|` +
		`^(bundle\.)?cli\.flag\.|^cli\.(cleanup|delete|deploy|join|logs|support|template|validate|certs|etcd|attach|` +
		`resume|list|kubeconfig)\.[a-z-]+$`), fragment},
}

// formOf is how the text of a key is written.
func formOf(key string) form {
	for _, f := range forms {
		if f.key.MatchString(key) {
			return f.form
		}
	}
	return free
}

// names begin a sentence with a small letter, as they are written.
var names = regexp.MustCompile(`^(deploy|etcd|kubectl|sudo|nginx|sshd|chmod|eggo|repomd\.xml|dns-vip|external-ca-path|` +
	`package-source\.type|loadbalance|schedule|containerd|kubelet|kube-\w+|systemd|deploy\.yaml|root)\b`)

// proper begins a fragment with a capital: an abbreviation, a key to press, a thing of Kubernetes.
var proper = regexp.MustCompile(`^([A-Z]{2,}|IPv[46]|Kubernetes|CoreDNS|Pod|Service|Node|Ctrl|Enter|Esc|Tab|Space|` +
	`PgDn|Eggo)`)

// ofAFlag is what the value of a flag is called, before what the flag does.
var ofAFlag = regexp.MustCompile("^`[^`]+` ")

// wrongForm says what is wrong with how a text is written; "" if nothing is.
func wrongForm(lang Lang, key, text string) string {
	stopped := strings.HasSuffix(text, ".") || strings.HasSuffix(text, "。")
	small := text[0] >= 'a' && text[0] <= 'z' && !names.MatchString(text)
	want := formOf(key)
	bare := ofAFlag.ReplaceAllString(text, "")
	switch {
	case want == sentence && !endsASentence(text):
		return "a sentence ends with a full stop"
	case (want == label || want == fragment) && stopped:
		return "a label ends without a full stop"
	case lang == English && (want == sentence || want == label) && small:
		return "begins with a small letter"
	case lang == English && want == fragment && bare[0] >= 'A' && bare[0] <= 'Z' && !proper.MatchString(bare):
		return "a fragment begins with a small letter"
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

// banned words are patterns of words that have a better one: terms.md of the rewrite had them. A terminal has cells.
var banned = map[Lang]*regexp.Regexp{
	English: regexp.MustCompile(`(?i)\(s\)|\b(mend(s|ed|ing)?|anew|go(es|ne|ing)? on|left out|leaves? \w+ out|` +
		`rehears\w+|` +
		`let in|stand(s|ing)? in the way|proven?|proves|proving|proofs?|judg\w+|verdicts?|who(m|se)?ever|` +
		`someone|somebody|` +
		`as it should be|(cut|broken?) off|authorit(y|ies)|strangers?|unwell|sums?|jump hosts?|try again|` +
		`tak(e|es|en|ing) (away|back)|tells?|told|persons?|people|kicked|settles?|in turns|gravest|worst|programs?|` +
		`pictures?|houses?|rooms?|looked at|looks? (around|into)|spare|forgets?|needs you|what helps|not reached|` +
		`colour\w*|nobody|there (is|are) no)\b`),
	Chinese: regexp.MustCompile(`中断预算|法定多数|API 服务器|API server|控制机|安装前检查|支持包|负载均衡器|控制节点|` +
		`主节点|离开|忘记|撤回|您|帐号|登陆|更新证书|Ansible 清单|` +
		`钩子([^脚]|$)|解开|另一个运行|运行已|运行的进程|运行目录|构建离线包|重新构建。`),
}

// wrongWord is a word of a text that is not to occur; "" if there is none.
func wrongWord(lang Lang, text string) string {
	return banned[lang].FindString(blank.ReplaceAllString(text, ""))
}

// blank is what is filled in; its name is no word of the text.
var blank = regexp.MustCompile(`\{[a-z_-]+\}`)

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
			if word := wrongWord(lang, text); word != "" {
				t.Errorf("%s %s: the word %q is not to occur: %q", lang, key, word, text)
			}
		}
	}
}

// unitOfComponent is where the log of a component is that kubeadm has run as a pod.
var unitOfComponent = regexp.MustCompile(
	`journalctl -u (\{component\}|\{other\}|etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy)`)

// A component is a service or a pod: who is told where its log is does not have to know which.
func TestALogIsNamedForBothDrivers(t *testing.T) {
	seen := 0
	for lang, texts := range map[Lang]map[string]string{English: catalog(English), Chinese: catalog(Chinese)} {
		for key, text := range texts {
			if unitOfComponent.MatchString(text) {
				seen++
				if !strings.Contains(text, "/var/log/pods") {
					t.Errorf("%s %s: %q", lang, key, text)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no message names a log")
	}
}

// The rules find what they are for, and nothing else.
func TestTheRulesOfMessagesCatchWhatTheyMean(t *testing.T) {
	for _, tc := range []struct {
		key, text string
		right     bool
	}{
		{"fault.a", "The disk is full.", true},
		{"fault.a", "the disk is full.", false},
		{"fault.a", "The disk is full", false},
		{"fault.a.next", "Check it on the node: journalctl -u kubelet", true},
		{"step.a", "Install packages", true},
		{"step.a", "Install packages.", false},
		{"cli.flag.a", "`FILE` read the machines from a file", true},
		{"cli.flag.a", "`FILE` Read the machines from a file", false},
		{"cli.join.a", "SSH port of the machine", true},
		{"key.a", "SSH user. A user other than root needs sudo", true},
		{"key.a", "SSH user of all machines.", false},
		{"template.a", "Name of the cluster", false},
		{"ui.key.a", "Open", false},
		{"wizard.hint.a", "as of ssh -J", false},
		{"notice.a", "removed {sums}", true},
		{"notice.a", "nothing is left out", false},
		{"wizard.a", "fix the first one", true},
		{"wizard.a", "mend the first one", false},
		{"ui.a", "{node} needs you", false},
		{"bundle.cli.a", "2 file(s)", false},
	} {
		wrong := wrongForm(English, tc.key, tc.text) + wrongWord(English, tc.text)
		if (wrong == "") != tc.right {
			t.Errorf("%s: %q: %q", tc.key, tc.text, wrong)
		}
	}
}
