package node

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Records reads what was recorded on the machine, in the order of the changes, kinds that this program does not know
// among it. A record in a newer format is the fault node.record-format.
func (n *Node) Records(ctx context.Context) ([]Record, error) {
	out, err := n.Query(ctx, "cat "+Dir+"/record 2>/dev/null || true")
	if err != nil {
		return nil, err
	}
	all, format := parseRecords(out)
	if f := UnsupportedRecord(format, nil); f != nil {
		return nil, f.On(n.Name())
	}
	return all, nil
}

// Understood is the fault of records with kinds that this program does not know, which a cleanup would leave on the
// machine.
func (n *Node) Understood(records []Record) error {
	var names []string
	for _, r := range records {
		names = append(names, r.Kind)
	}
	if f := UnsupportedRecord("", names); f != nil {
		return f.On(n.Name())
	}
	return nil
}

// parseRecords passes over lines that were torn. One with more than we write is of a kind that is not known.
func parseRecords(out string) (all []Record, format string) {
	for line := range strings.Lines(out) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case len(w) < 3:
		case w[0] == formatKind:
			format = cmp.Or(format, w[1])
		case len(w) == 3:
			all = append(all, Record{w[0], w[1], w[2]})
		default:
			all = append(all, Record{w[0] + "+", w[1], strings.Join(w[2:], "\t")})
		}
	}
	return all, format
}

// known are the kinds as a pattern of the shell.
func known() string { return strings.Join(append(kinds(), formatKind), "|") }

// Undo reverts the records of the given kinds, last first, and returns what it kept. An undo that was cut off is run
// again: the records stand until Forget.
func (n *Node) Undo(ctx context.Context, desc event.Msg, records []Record, purge bool, kinds ...string) (kept []string,
	err error) {
	var script strings.Builder
	var packages, rpms []string
	done := 0
	if slices.ContainsFunc(records, func(r Record) bool { return r.Kind == "port" || r.Kind == "zonefile" }) &&
		slices.Contains(kinds, "port") {
		script.WriteString(firewallLib)
	}
	if slices.Contains(kinds, "hostname") {
		script.WriteString(renameLib)
	}
	for _, r := range slices.Backward(records) {
		if !slices.Contains(kinds, r.Kind) {
			continue
		}
		if r.Kind == "package" {
			packages = append(packages, r.Key)
			continue
		}
		if r.Kind == "rpm" {
			rpms = append(rpms, r.Key)
			continue
		}
		script.WriteString(undo(r, purge))
		done++
	}
	if len(packages) > 0 {
		script.WriteString(undoPackages(packages))
	}
	if len(rpms) > 0 {
		script.WriteString(undoRPMs(rpms))
	}
	if done == 0 && len(packages) == 0 && len(rpms) == 0 {
		return nil, nil
	}
	res, err := n.Change(ctx, Change{Desc: desc, Script: "keep() { printf 'kept %s\\n' \"$1\"; }\n" + script.String()})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(res.Stdout)) {
		if what, ok := strings.CutPrefix(line, "kept "); ok {
			kept = append(kept, event.Clean(what))
		}
	}
	return kept, nil
}

// undo is the script that reverts one record; each line may run twice.
func undo(r Record, purge bool) string {
	k := shell.Quote(r.Key)
	content := purge || r.Was == "cleanup"
	switch r.Kind {
	case "unit":
		return fmt.Sprintf("systemctl disable --now %[1]s 2>/dev/null || systemctl stop %[1]s 2>/dev/null || true\n", k)
	case "file":
		return "unfile " + k + "\n"
	case "tree":
		if !content {
			return fmt.Sprintf("[ ! -e %[1]s ] || keep %[1]s\n", k)
		}
		return fmt.Sprintf("if mounted %[1]s; then keep %[1]s; elif [ -e %[1]s ]; then rm -rf --one-file-system "+
			"%[1]s; [ ! -e %[1]s ] || keep %[1]s; fi\n", k)
	case "emptied":
		if !content {
			return fmt.Sprintf("[ -z \"$(ls -A %[1]s 2>/dev/null | grep -vx lost+found)\" ] || keep %[1]s\n", k)
		}
		return fmt.Sprintf("if awk -v p=%[1]s/ 'index($2,p)==1 {f=1} END {exit !f}' /proc/mounts; then keep %[1]s; "+
			"elif [ -d %[1]s ]; then find %[1]s -xdev -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf "+
			"--one-file-system {} +; fi\n", k)
	case "dir":
		return fmt.Sprintf("[ ! -d %[1]s ] || rmdir %[1]s 2>/dev/null || keep %[1]s\n", k)
	case "sysctl":
		p := shell.Quote("/proc/sys/" + strings.ReplaceAll(r.Key, ".", "/"))
		return fmt.Sprintf("[ ! -e %[1]s ] || echo %[2]s >%[1]s\n", p, shell.Quote(r.Was))
	case "module":
		return fmt.Sprintf("modprobe -r %[1]s 2>/dev/null || keep 'kernel module '%[1]s\n", k)
	case "port":
		return fmt.Sprintf("fw del %s || keep %s\n", words(r.Key), shell.Quote("rule of the firewall: "+r.Key))
	case "zonefile":
		return "zonefile " + k + "\n"
	case "hostname":
		return fmt.Sprintf("rename %s %s\n", shell.Quote(r.Was), k)
	case "user", "group":
		return undoAccount(r)
	case "mode":
		return fmt.Sprintf("[ ! -d %[1]s ] || chmod %[2]s %[1]s\n", k, shell.Quote(r.Was))
	case "block":
		return "if [ -e " + k + " ]; then block " + k + " </dev/null; fi\n"
	}
	return ""
}

//go:embed undopackages.sh
var undoPackagesScript string

//go:embed forget.sh
var forgetScript string

// undoPackages removes those of the packages that are there, then their configuration, which was not there before; of
// one that had left it here once it stays. A package that something else has come to need is kept, and said; so is what
// a running firewalld uses.
func undoPackages(names []string) string {
	return Accounts + "export DEBIAN_FRONTEND=noninteractive LC_ALL=C\nfixdpkg\n" +
		strings.ReplaceAll(undoPackagesScript, "@", shell.QuoteAll(names))
}

// Forget removes the machine's record and our directory. What was kept and is still there stays recorded, so that a
// later cleanup finds it, and so does what this program does not know; the record goes last, for without it nothing
// could be taken back.
func (n *Node) Forget(ctx context.Context) error {
	script := strings.Replace(forgetScript, "@KNOWN@", known(), 1)
	_, err := n.Change(ctx, Change{Desc: event.M("change.forget"), Script: script})
	return err
}
