package render

import (
	"cmp"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// LoginsDir is the directory of a run's pod in which each Secret with a login is a directory with its keys as files.
const LoginsDir = "/etc/eggo/logins"

// Login is how a machine is logged in to: what its Secret has, without a value that is secret.
type Login struct {
	Secret string // its name
	User   string
	Key    bool // a private key, not a password
	Sudo   bool // a password for sudo of its own
}

// Files are the keys of a Secret with a login.
const (
	FileUser     = "username"
	FilePassword = "password"
	FileKey      = "ssh-privatekey"
	FileSudo     = "sudo-password"
)

// spec returns the login with the files of a run's pod.
func (l Login) spec() config.LoginSpec {
	if l == (Login{}) {
		return config.LoginSpec{}
	}
	file := func(name string) string { return path.Join(LoginsDir, l.Secret, name) }
	out := config.LoginSpec{User: cmp.Or(l.User, "root")}
	if l.Key {
		out.PrivateKeyPath = file(FileKey)
	} else {
		out.PasswordFrom = "file:" + file(FilePassword)
	}
	if l.Sudo {
		out.SudoPasswordFrom = "file:" + file(FileSudo)
	}
	return out
}

// LoginOf returns the login of a Secret of type kubernetes.io/basic-auth or kubernetes.io/ssh-auth. The faults are
// operator.login-type and operator.login-key.
func LoginOf(s *corev1.Secret) (Login, error) {
	l := Login{Secret: s.Name, User: event.Clean(string(s.Data[FileUser])), Sudo: len(s.Data[FileSudo]) > 0}
	need := FilePassword
	switch s.Type {
	case corev1.SecretTypeBasicAuth:
	case corev1.SecretTypeSSHAuth:
		l.Key, need = true, FileKey
	default:
		return l, event.NewFault(event.ClassUsage, "operator.login-type", nil, "secret", s.Name, "type",
			event.Clean(string(s.Type)))
	}
	if len(s.Data[need]) == 0 {
		return l, event.NewFault(event.ClassUsage, "operator.login-key", nil, "secret", s.Name, "key", need)
	}
	return l, nil
}
