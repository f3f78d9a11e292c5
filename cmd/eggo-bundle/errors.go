package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// silent ends the program with a code when everything has been said.
type silent struct{ exitcode.Code }

func (silent) Error() string { return "" }

// printErrors shows every fault of err, each with its sentence and its advice, on stderr or as JSON lines, and gives
// the exit code: that of the faults if they agree, else Failed.
func printErrors(env *environment, err error) exitcode.Code {
	if err == nil {
		return exitcode.OK
	}
	if s, ok := err.(silent); ok {
		return s.Code
	}
	list := together(faults(err))
	for i, f := range list {
		advised := false // by the one that follows: the same advice twelve times is none
		if i+1 < len(list) {
			_, now := env.P.Fault(f)
			_, then := env.P.Fault(list[i+1])
			advised = now == then
		}
		printFault(env, f, !advised)
	}
	code := exitcode.OfClass(list[0].Class)
	for _, f := range list {
		if exitcode.OfClass(f.Class) != code {
			return exitcode.Failed
		}
	}
	return code
}

func printFault(env *environment, f *event.Fault, advise bool) {
	text, next := env.P.Fault(f)
	if env.json {
		o := fields{"severity": event.Error, "code": f.Code, "message": text, "fault": f}
		for _, k := range []string{"file", "line", "key"} {
			if v := f.Args[k]; v != "" {
				o[k] = v
			}
		}
		if next != "" {
			o["next"] = next
		}
		_ = env.emit("problem", o)
		return
	}
	switch file, line := event.Clean(f.Args["file"]), f.Args["line"]; {
	case file == "":
	case strings.HasPrefix(f.Code, "sign."):
		if !strings.Contains(text, file) { // a bundle; a line is one of the allowed signers, as the sentence says
			text = file + ": " + text
		}
	case line != "":
		text = file + ":" + line + ": " + text
	}
	s := cli.ScreenOf(env.Stderr, env.Getenv)
	fmt.Fprint(env.Stderr, s.Text(fmt.Sprintf("%s: %s [%s]\n", s.Error(env.P.T("cli.error")), text, f.Code)))
	if next != "" && advise {
		fmt.Fprint(env.Stderr, s.Text(fmt.Sprintf("  → %s\n", next)))
	}
}

// faults are those of a tree of errors, in its order.
func faults(err error) []*event.Fault {
	for e := err; e != nil; {
		switch x := e.(type) {
		case *event.Fault:
			return []*event.Fault{x}
		case interface{ Unwrap() []error }:
			var out []*event.Fault
			for _, one := range x.Unwrap() {
				out = append(out, faults(one)...)
			}
			if len(out) > 0 {
				return out
			}
			return []*event.Fault{event.AsFault(err)}
		case interface{ Unwrap() error }:
			e = x.Unwrap()
		default:
			e = nil
		}
	}
	return []*event.Fault{event.AsFault(err)}
}

// together makes one of faults that say the same, which then names all their architectures.
func together(list []*event.Fault) []*event.Fault {
	type found struct {
		*event.Fault
		arches []string
	}
	var out []*found
	at := map[string]*found{}
	for _, f := range list {
		arch := f.Args["arch"]
		key := fmt.Sprintln(f.Code, f.Class, f.Node, f.Step, f.Cause)
		for _, k := range slices.Sorted(maps.Keys(f.Args)) {
			if k != "arch" {
				key += fmt.Sprintf("%q=%q\n", k, f.Args[k])
			}
		}
		if first, again := at[key]; again {
			if arch != "" && !slices.Contains(first.arches, arch) {
				first.arches = append(first.arches, arch)
			}
			continue
		}
		at[key] = &found{f, []string{arch}}
		out = append(out, at[key])
	}
	faults := make([]*event.Fault, len(out))
	for i, f := range out {
		faults[i] = f.Fault
		if len(f.arches) > 1 {
			c := *f.Fault
			c.Args = maps.Clone(c.Args)
			slices.Sort(f.arches)
			c.Args["arch"] = strings.Join(f.arches, ", ")
			faults[i] = &c
		}
	}
	return faults
}
