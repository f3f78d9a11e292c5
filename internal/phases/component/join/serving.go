package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// serving approves the kubelets' requests for serving certificates, which Kubernetes leaves to somebody who knows the
// machines: deploy.yaml does. A kubelet asks again in the last fifth of its certificate's year; deploy approves that
// too.
func (r *Join) serving(n config.Node, joined string) *engine.Step {
	s := plan.Step(plan.PhaseBootstrap, "serving", n.Name, []string{joined})
	s.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
	s.Timeout = time.Minute
	s.Check = func(ctx context.Context) (bool, error) {
		waiting, err := r.servingRequests(ctx, n)
		if err != nil || len(waiting) > 0 {
			return false, err
		}
		return r.serves(ctx, n)
	}
	s.Apply = func(ctx context.Context) error {
		waiting, err := r.servingRequests(ctx, n)
		if err != nil {
			return err
		}
		for i := range waiting {
			if err := r.approve(ctx, n, &waiting[i]); err != nil {
				return err
			}
		}
		has, err := r.serves(ctx, n)
		if err != nil || has {
			return err
		}
		return wait.Again("bootstrap.no-serving-certificate").On(n.Name)
	}
	return s
}

func (r *Join) serves(ctx context.Context, n config.Node) (bool, error) {
	out, err := r.Node(n.Name).Query(ctx, "[ -s "+shell.Quote(r.Driver.Paths().Serving)+" ] && echo yes || true")
	return strings.TrimSpace(out) == "yes", err
}

// servingRequests are the node's requests that nobody has decided on.
func (r *Join) servingRequests(ctx context.Context, n config.Node) ([]certificatesv1.CertificateSigningRequest, error) {
	list, err := r.API().CertificatesV1().CertificateSigningRequests().List(ctx,
		metav1.ListOptions{FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName})
	if err != nil {
		return nil, clients.Fault(err)
	}
	return slices.DeleteFunc(list.Items, func(c certificatesv1.CertificateSigningRequest) bool {
		return c.Spec.SignerName != certificatesv1.KubeletServingSignerName ||
			c.Spec.Username != "system:node:"+n.Name || len(c.Status.Conditions) > 0
	}), nil
}

func (r *Join) approve(ctx context.Context, n config.Node, c *certificatesv1.CertificateSigningRequest) error {
	if err := mayServe(n, &c.Spec); err != nil {
		return event.NewFault(event.ClassFailed, "bootstrap.serving-refused", err, "request",
			event.Clean(c.Name)).On(n.Name)
	}
	c.Status.Conditions = append(c.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "EggoApproved",
		Message: "The node of deploy.yaml asked for its own name and address.",
	})
	if _, err := r.API().CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, c.Name, c,
		metav1.UpdateOptions{FieldManager: layout.FieldManager}); err != nil {
		return clients.Fault(err)
	}
	return nil
}

// mayServe says why a request for a serving certificate is not the node's own: who asks, for what use, and every name
// in it are compared with deploy.yaml. A kubelet that was taken over could else ask for the API server's name.
func mayServe(n config.Node, spec *certificatesv1.CertificateSigningRequestSpec) error {
	name := "system:node:" + n.Name
	if spec.Username != name || !slices.Contains(spec.Groups, "system:nodes") {
		return fmt.Errorf("%q asks for it", spec.Username)
	}
	for _, u := range spec.Usages {
		if !slices.Contains([]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature,
			certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth}, u) {
			return fmt.Errorf("it asks for the use %q", u)
		}
	}
	if !slices.Contains(spec.Usages, certificatesv1.UsageServerAuth) {
		return errors.New("it is not for a server")
	}
	b, rest := pem.Decode(spec.Request)
	if b == nil || b.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return errors.New("it is not one request in PEM")
	}
	c, err := x509.ParseCertificateRequest(b.Bytes)
	if err != nil {
		return err
	}
	if err := c.CheckSignature(); err != nil {
		return err
	}
	if c.Subject.CommonName != name || !slices.Equal(c.Subject.Organization, []string{"system:nodes"}) {
		return fmt.Errorf("it is for %s", c.Subject)
	}
	if len(c.EmailAddresses)+len(c.URIs) > 0 || len(c.DNSNames)+len(c.IPAddresses) == 0 {
		return errors.New("it has no names of a machine, or others besides")
	}
	for _, d := range c.DNSNames {
		if d != n.Name {
			return fmt.Errorf("it asks for the name %q", d)
		}
	}
	for _, ip := range c.IPAddresses {
		if ip.String() != n.IP.String() {
			return fmt.Errorf("it asks for the address %s", ip)
		}
	}
	return nil
}
