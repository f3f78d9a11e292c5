package join

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// token is the bootstrap token as the jump host keeps it until it ends.
type token struct {
	ID, Secret string
	Ends       time.Time
}

// TokenFile is where the jump host keeps the token, in the cluster's directory.
const TokenFile = "pki/bootstrap-token"

func (r *Join) tokenPath() string { return filepath.Join(r.StateDir, TokenFile) }

func (r *Join) readToken() (token, bool) {
	var t token
	data, err := os.ReadFile(r.tokenPath())
	if err != nil || json.Unmarshal(data, &t) != nil {
		return t, false
	}
	return t, r.Now().Add(time.Hour).Before(t.Ends)
}

func (r *Join) tokenValid(ctx context.Context) (bool, error) {
	t, ok := r.readToken()
	if !ok {
		return false, nil
	}
	_, err := r.API().CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, "bootstrap-token-"+t.ID, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, clients.Fault(err)
	}
	return true, nil
}

func (r *Join) makeToken(ctx context.Context) error {
	t, ok := r.readToken()
	if !ok {
		// rand.Text is upper-case base32; a bootstrap token is [a-z0-9]{6}.[a-z0-9]{16}.
		s := strings.ToLower(rand.Text())
		t = token{ID: s[:6], Secret: s[6:22], Ends: r.Now().Add(layout.TokenLife).UTC()}
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(r.tokenPath(), data, 0o600); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	if err := r.Keep(ctx, input.KeptPKI); err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + t.ID, Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": t.ID, "token-secret": t.Secret, "expiration": t.Ends.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:eggo",
		},
	}
	_, err := r.API().CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret,
		metav1.CreateOptions{FieldManager: layout.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return clients.Fault(err)
	}
	return nil
}

// DropToken removes the token that a run made, of which nothing is to be left; was is the file of the one before.
func (r *Join) DropToken(ctx context.Context, was []byte) error {
	var before, now token
	_ = json.Unmarshal(was, &before) // none, and none that can be read, are the same
	data, err := os.ReadFile(r.tokenPath())
	if err != nil || json.Unmarshal(data, &now) != nil || now.ID == before.ID {
		return engine.ErrUnchanged
	}
	name := "bootstrap-token-" + now.ID
	if err := r.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.delete-token", "name", name)}); err != nil {
		return err
	}
	err = r.API().CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return clients.Fault(err)
	}
	return nil
}

// handToken gives a node that has no certificate yet the token to ask for one.
func (r *Join) handToken(ctx context.Context, nd *node.Node) error {
	out, err := nd.Query(ctx, "[ -s "+shell.Quote(r.Driver.Paths().Kubeconfig)+" ] && echo joined || true")
	if err != nil || strings.TrimSpace(out) == "joined" {
		return err
	}
	t, ok := r.readToken()
	if !ok {
		return event.NewFault(event.ClassFailed, "bootstrap.no-token", nil).On(nd.Name())
	}
	conf, err := r.BootstrapKubeconfig(t.ID + "." + t.Secret)
	if err != nil {
		return err
	}
	_, err = nd.Put(ctx, []node.File{{Path: r.Driver.Paths().Bootstrap, Mode: 0o600, Data: conf, Secret: true}})
	return err
}
