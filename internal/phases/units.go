package phases

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// unit is a systemd service of ours. Flags are sorted, so that the same settings give the same bytes and nothing restarts in vain.
type unit struct {
	Description string
	After       []string
	Wants       []string      // not Requires: a dependency whose first start fails at boot must not keep this one down for good
	Type        string        // "" is simple
	StopTimeout time.Duration // 0 is systemd's own; after it systemd kills
	Environment []string      // files; one with a dash before it may be absent
	Program     string
	Flags       map[string]string
}

func (u unit) render() []byte {
	var b strings.Builder
	b.WriteString("# Written by Eggo; removed by eggo-tui cleanup.\n[Unit]\nDescription=" + u.Description + "\n")
	if len(u.After) > 0 {
		fmt.Fprintf(&b, "After=%s\n", strings.Join(u.After, " "))
	}
	if len(u.Wants) > 0 {
		fmt.Fprintf(&b, "Wants=%s\n", strings.Join(u.Wants, " "))
	}
	b.WriteString("StartLimitIntervalSec=0\n\n[Service]\n")
	if u.Type != "" {
		b.WriteString("Type=" + u.Type + "\nTimeoutStartSec=120\n")
	}
	if u.StopTimeout > 0 {
		fmt.Fprintf(&b, "TimeoutStopSec=%d\n", int(math.Ceil(u.StopTimeout.Seconds())))
	}
	for _, f := range u.Environment {
		b.WriteString("EnvironmentFile=" + f + "\n")
	}
	b.WriteString("ExecStart=" + u.Program)
	names := make([]string, 0, len(u.Flags))
	for k := range u.Flags {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(&b, " \\\n  %s", execWord("--"+k+"="+u.Flags[k]))
	}
	b.WriteString("\nRestart=always\nRestartSec=2\nLimitNOFILE=65536\n\n[Install]\nWantedBy=multi-user.target\n")
	return []byte(b.String())
}

// execWord quotes one word of ExecStart: % and $ are systemd's own, the rest as systemd.syntax(7) quotes.
func execWord(s string) string {
	s = strings.NewReplacer("%", "%%", "$", "$$").Replace(s)
	if !strings.ContainsAny(s, " \t\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
