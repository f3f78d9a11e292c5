package registry

import (
	"os"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Keychain has the credentials of this machine's user: the file that $REGISTRY_AUTH_FILE names, as podman and skopeo read it; what it does
// not know is asked of docker's configuration and its helper programs, or of podman's file where docker has none.
func Keychain() authn.Keychain {
	return authn.NewMultiKeychain(named{}, authn.DefaultKeychain)
}

// named reads $REGISTRY_AUTH_FILE. go-containerregistry itself looks there only if docker has no configuration at all.
type named struct{}

func (named) Resolve(target authn.Resource) (authn.Authenticator, error) {
	path := os.Getenv("REGISTRY_AUTH_FILE")
	if path == "" {
		return authn.Anonymous, nil
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return authn.Anonymous, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := config.LoadFromReader(f)
	if err != nil {
		return nil, err
	}
	// podman keeps credentials for repositories too.
	keys := []string{target.String(), target.RegistryStr()}
	if hub, ok := strings.CutPrefix(target.String(), name.DefaultRegistry); ok {
		keys = []string{"docker.io" + hub, "docker.io", authn.DefaultAuthKey}
	}
	for _, key := range keys {
		c, err := file.GetAuthConfig(key)
		if err != nil {
			return nil, err
		}
		c.ServerAddress = ""
		if c != (types.AuthConfig{}) {
			return authn.FromConfig(authn.AuthConfig{Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken}), nil
		}
	}
	return authn.Anonymous, nil
}
