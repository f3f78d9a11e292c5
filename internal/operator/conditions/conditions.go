// Package conditions writes the conditions of the operator's objects: a fault becomes a reason and a sentence, and a
// status is applied as it was read.
package conditions

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// mostMessage bounds the message of a condition, in bytes.
const mostMessage = 4096

// reasons are the reasons of conditions that the API names; others are made of the code of the fault.
func reasons() map[string]string {
	return map[string]string{
		"ssh.hostkey-unknown":    v1.ReasonHostKeyUnknown,
		"ssh.hostkey-changed":    v1.ReasonHostKeyChanged,
		"pool.hostkey-unknown":   v1.ReasonHostKeyUnknown,
		"pool.hostkey-changed":   v1.ReasonHostKeyChanged,
		"pool.login-none":        v1.ReasonLoginMissing,
		"pool.login-missing":     v1.ReasonLoginMissing,
		"operator.login-key":     v1.ReasonLoginMissing,
		"operator.login-type":    v1.ReasonLoginType,
		"pool.same-ip":           v1.ReasonDuplicateIP,
		"pool.same-ip-elsewhere": v1.ReasonDuplicateIP,
		"pool.address":           v1.ReasonAddressRefused,
		"pool.not-clean":         v1.ReasonNotClean,
		"pool.quarantine":        v1.ReasonQuarantined,
		"pool.bound":             v1.ReasonBound,
		"pool.maintenance":       v1.ReasonMaintenance,
		"bundles.claim-missing":  v1.ReasonNotFound,
		"pool.machines-missing":  v1.ReasonWaitingForMachines,
	}
}

// Reason returns the reason of a condition for the code of a fault: ssh.auth-failed becomes SshAuthFailed.
func Reason(code string) string {
	if r := reasons()[code]; r != "" {
		return r
	}
	var b strings.Builder
	up := true
	for _, r := range code {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) || r > unicode.MaxASCII:
			up = true
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return v1.ReasonUnknown
	}
	return b.String()
}

// Sentence returns a fault as one text: what is wrong, and what to do.
func Sentence(p *i18n.Printer, f *event.Fault) string {
	text, next := p.Fault(f)
	if next != "" {
		text = p.Join(text, next)
	}
	return Clip(text)
}

// Clip bounds a message in bytes, between two characters.
func Clip(s string) string {
	if len(s) <= mostMessage {
		return s
	}
	s = s[:mostMessage-len("…")]
	for len(s) > 0 && s[len(s)-1]&0xc0 == 0x80 {
		s = s[:len(s)-1]
	}
	if len(s) > 0 && s[len(s)-1] >= 0xc0 {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// Failing is a condition that is False because of a fault.
func Failing(p *i18n.Printer, kind string, f *event.Fault) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: Reason(f.Code), Message: Sentence(p, f)}
}

// Holding is a condition that is True.
func Holding(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// Unknown is a condition that was not examined yet.
func Unknown(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1.ReasonUnknown}
}

// Is reports whether a condition is True for the present spec of an object.
func Is(list []metav1.Condition, kind string, generation int64) bool {
	c := meta.FindStatusCondition(list, kind)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
}
