package v1_test

import (
	"encoding/json"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func fromJSON(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func codecs(t *testing.T) runtime.NegotiatedSerializer {
	t.Helper()
	return serializer.NewCodecFactory(apiservertest.Scheme(t)).WithoutConversion()
}

// may asks the API server what a user may do in the namespace default.
func may(t *testing.T, c client.Client, user, verb, group, resource string) bool {
	t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	q := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
		Groups: []string{"system:authenticated"}, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "default", Verb: verb, Group: group, Resource: resource, Subresource: sub}}}
	if err := c.Create(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return q.Status.Allowed
}
