package event

import (
	"errors"
	"strings"
)

// Class groups faults by what they mean to the caller; each has an exit code (docs/exit-codes.md).
type Class string

// The classes, in the order of the exit code table.
const (
	ClassFailed      Class = "failed"      // 1
	ClassUsage       Class = "usage"       // 2: usage or deploy.yaml; nothing was touched
	ClassPartial     Class = "partial"     // 3: finished, some nodes failed or were skipped
	ClassAuth        Class = "auth"        // 4: authentication or host key, before any change
	ClassPreflight   Class = "preflight"   // 5: nothing was touched
	ClassBundle      Class = "bundle"      // 6: bundle damaged or incomplete
	ClassLocked      Class = "locked"      // 11: another run holds the lock
	ClassInterrupted Class = "interrupted" // 130
)

// Fault is an error that a person can act on: who (Node), what (Step), why (Code with Args, and Cause, the underlying
// error's own words), and what to do next (the sentence "<Code>.next" of internal/output/i18n). Code is stable and the
// same in every language; its sentence is the key "fault.<Code>" in internal/output/i18n and its advice
// "fault.<Code>.next".
type Fault struct {
	Code  string            `json:"code"`
	Class Class             `json:"class"`
	Node  string            `json:"node,omitempty"`
	Step  string            `json:"step,omitempty"`
	Args  map[string]string `json:"args,omitempty"`
	Cause string            `json:"cause,omitempty"` // cleaned of control characters
	// Calls are the operations that the advice names: {command}, {command2} and so on.
	Calls []Call `json:"calls,omitempty"`
	Retry bool   `json:"-"` // worth another try
	Err   error  `json:"-"`
}

// FullDisks is the argument of a fault that names the full file systems of its node.
const FullDisks = "full"

// TakeOver is the argument of a fault with the number by which its cluster can be taken over from another owner.
const TakeOver = "highest"

// Error is for logs and tests; front ends render the fault through internal/output/i18n.
func (f *Fault) Error() string {
	var b strings.Builder
	for _, s := range []string{f.Node, f.Step, f.Code, f.Cause} {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	return b.String()
}

func (f *Fault) Unwrap() error { return f.Err }

// NewFault makes a fault about err (which may be nil); kv are alternating argument names and values. Both are cleaned
// and bounded: they often hold what a node said.
func NewFault(class Class, code string, err error, kv ...string) *Fault {
	f := &Fault{Code: code, Class: class, Args: boundArgs(M("", kv...).Args), Err: err}
	if err != nil {
		f.Cause = clipCause(err.Error())
	}
	Provoked(f)
	return f
}

// Advising makes a fault whose advice names operations; kv are as those of NewFault.
func Advising(class Class, code string, calls []Call, kv ...string) *Fault {
	f := &Fault{Code: code, Class: class, Args: boundArgs(M("", kv...).Args), Calls: calls}
	Provoked(f)
	return f
}

// On names the node, unless one is named already, and returns f.
func (f *Fault) On(node string) *Fault {
	if f.Node == "" {
		f.Node = node
	}
	return f
}

// Recode gives f another code and returns it.
func (f *Fault) Recode(code string) *Fault {
	f.Code = code
	Provoked(f)
	return f
}

// AsFault returns the fault in err's chain, or wraps err as class failed, code "internal".
func AsFault(err error) *Fault {
	if err == nil {
		return nil
	}
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f
	}
	return NewFault(ClassFailed, "internal", err)
}
