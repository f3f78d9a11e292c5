package node

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// wordsMost is how many of the last lines of a program a fault keeps.
const wordsMost = 5

// wordMost bounds, in bytes, each of them.
const wordMost = 1 << 10

// klog is the head of a line of Kubernetes' programs: its level, then the date.
var klog = regexp.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d`)

// manager is what systemd says of a unit: that it failed, which the fault says, and how it stands.
var manager = regexp.MustCompile(
	`^\s*([●×*] \S+\.service|(Loaded|Drop-In|Active|Docs|Process|Main PID|Status|Tasks|Memory|CPU|CGroup): )|^\S+\.service: |^(Created symlink|Job for|See "systemctl|Failed to start|Starting|Started|Stopped) `)

// lastWords are the lines with which a program said what is wrong, for a fault: of one that says itself which of its
// lines are of errors, these and what others said between them, without systemd, else the last ones. A line in JSON, as
// etcd writes them, becomes its message and its error.
func lastWords(text string) string {
	var all, grave []string
	wrong := false
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		l, level := plainly(l)
		l = event.Clip(l, wordMost)
		all = append(all, l)
		if level != chatter {
			grave = append(grave, l)
		}
		wrong = wrong || level == trouble
	}
	if wrong {
		all = grave
	}
	return event.Clean(strings.Join(all[max(0, len(all)-wordsMost):], "\n"))
}

type gravity int

const (
	unsaid gravity = iota
	chatter
	trouble
)

// plainly is a line as a person reads it, and how grave it says to be.
func plainly(line string) (string, gravity) {
	if manager.MatchString(line) {
		return line, chatter
	}
	if m := klog.FindStringSubmatch(line); m != nil {
		if m[1] == "E" || m[1] == "F" {
			return line, trouble
		}
		return line, chatter
	}
	var l struct{ Level, Msg, Error string }
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &l) != nil || l.Level == "" || l.Msg == "" {
		return line, unsaid
	}
	text := l.Msg
	if l.Error != "" {
		text += ": " + l.Error
	}
	switch l.Level {
	case "error", "dpanic", "panic", "fatal":
		return text, trouble
	}
	return text, chatter
}
