// Package systemd writes units and environment files as systemd reads them. It knows no service by name.
package systemd

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// Unit is a systemd service of ours. Flags are sorted, so that the same settings give the same bytes and nothing
// restarts in vain.
type Unit struct {
	Description string
	After       []string
	// not Requires: a dependency whose first start fails at boot must not keep this one down for good
	Wants       []string
	Type        string        // "" is simple
	StopTimeout time.Duration // 0 is systemd's own; after it systemd kills
	Environment []string      // files; one with a dash before it may be absent
	// User is the account that the program runs as; "" is root. It reads neither Environment nor Credentials: systemd
	// does, as root.
	User        string
	Credentials map[string]string // files that the program finds by these names in CredentialsDir
	Before      []string          // commands that root runs before each start
	Program     string
	Flags       map[string]string
}

// CredentialsDir is where a unit's program finds what Credentials names.
func CredentialsDir(unit string) string { return "/run/credentials/" + unit }

// Render is the text of the unit.
func (u Unit) Render() []byte {
	var b strings.Builder
	b.WriteString("# Written by Eggo; removed by eggo-tui cleanup.\n[Unit]\nDescription=" + unitLine(u.Description) +
		"\n")
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
	if u.User != "" {
		b.WriteString("User=" + u.User + "\nGroup=" + u.User + "\nUMask=0077\nNoNewPrivileges=yes\n")
	}
	for _, name := range slices.Sorted(maps.Keys(u.Credentials)) {
		b.WriteString("LoadCredential=" + unitLine(name+":"+u.Credentials[name]) + "\n")
	}
	for _, f := range u.Environment {
		b.WriteString("EnvironmentFile=" + unitLine(f) + "\n")
	}
	for _, c := range u.Before {
		b.WriteString("ExecStartPre=+" + unitLine(c) + "\n")
	}
	b.WriteString("ExecStart=" + ExecPath(u.Program))
	names := make([]string, 0, len(u.Flags))
	for k := range u.Flags {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(&b, " \\\n  %s", ExecWord("--"+k+"="+u.Flags[k]))
	}
	b.WriteString("\nRestart=always\nRestartSec=2\nLimitNOFILE=65536\n\n[Install]\nWantedBy=multi-user.target\n")
	return []byte(b.String())
}

// ExecWord quotes one word of ExecStart behind the first: % and $ are systemd's own, the rest as systemd.syntax(7)
// quotes.
func ExecWord(s string) string {
	return systemdQuoted(strings.NewReplacer("%", "%%", "$", "$$").Replace(s))
}

// ExecPath quotes the first word of ExecStart, the program: no variables are filled in there, so $ stands for itself.
func ExecPath(s string) string { return systemdQuoted(UnitText(s)) }

// UnitText is a value that systemd takes as it is, but for %.
func UnitText(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// systemdQuoted puts a word that is more than one to systemd in quotes. What would end the line, or reach a terminal,
// is escaped.
func systemdQuoted(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"'\;`, r) }
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unitLine is text for one line of a unit.
func unitLine(s string) string {
	return UnitText(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s))
}

// EnvironmentFile is a file for systemd's EnvironmentFile=, sorted.
func EnvironmentFile(settings map[string]string) []byte {
	names := make([]string, 0, len(settings))
	for k := range settings {
		names = append(names, k)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("# Written by Eggo; removed by eggo-tui cleanup.\n")
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
	for _, k := range names {
		fmt.Fprintf(&b, "%s=\"%s\"\n", k, quote.Replace(settings[k]))
	}
	return []byte(b.String())
}
