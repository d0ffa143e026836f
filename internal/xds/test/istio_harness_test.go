// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// istio is Istio's control plane, with its configuration in a folder, from a program that the
// environment names.
type istio struct {
	t       *testing.T
	config  string // the folder
	address string // of xDS
}

// startIstio skips the test if the environment names no program.
func startIstio(t *testing.T) *istio {
	t.Helper()
	program := os.Getenv("ISTIO_PILOT")
	if program == "" {
		t.Skip("ISTIO_PILOT does not name a program: see README.md, Istio")
	}
	dir := t.TempDir()
	i := &istio{t: t, config: filepath.Join(dir, "config"), address: freeAddress(t)}
	if err := os.Mkdir(i.config, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubernetes := httptest.NewServer(emptyCluster{})
	t.Cleanup(kubernetes.CloseClientConnections)
	status, log := freeAddress(t), filepath.Join(dir, "log")
	c := exec.CommandContext(t.Context(), program, "discovery",
		"--kubeconfig", write("kubeconfig", fmt.Sprintf(kubeconfig, kubernetes.URL)),
		"--configDir", i.config, "--meshConfig", write("mesh", "{}"),
		"--grpcAddr", i.address, "--httpAddr", status, "--httpsAddr=", "--secureGRPCAddr=", "--monitoringAddr", freeAddress(t), "--ctrlz_port", "0")
	// Neither certificates, nor what only Kubernetes can tell.
	c.Env = append(os.Environ(), "ENABLE_CA_SERVER=false", "PILOT_CERT_PROVIDER=none", "PILOT_ENABLE_GATEWAY_API=false")
	c.WaitDelay = time.Second
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		out.Close()
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("%s", text[max(0, len(text)-8000):])
		}
	})
	i.await("it to be ready", func() bool {
		r, err := http.Get("http://" + status + "/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return i
}

// await asks until something is so.
func (i *istio) await(what string, ok func() bool) {
	i.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			i.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// say replaces the configuration, which is in YAML.
func (i *istio) say(documents ...string) {
	i.t.Helper()
	// By another name first: it reads what it finds.
	next := filepath.Join(i.t.TempDir(), "next")
	if err := os.WriteFile(next, []byte(strings.Join(documents, "\n---\n")), 0o600); err != nil {
		i.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(i.config, "all.yaml")); err != nil {
		i.t.Fatal(err)
	}
}

// bootstrap is the configuration of a client or server of gRPC's, as Istio's agent writes it.
func (i *istio) bootstrap(name, ip string) string {
	return fmt.Sprintf(`{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3"]}],
		"node":{"id":"sidecar~%s~%s.ns~ns.svc.cluster.local","metadata":{"GENERATOR":"grpc","NAMESPACE":"ns","ISTIO_VERSION":"1.27.0"}},
		"server_listener_resource_name_template":"xds.istio.io/grpc/lds/inbound/%%s"}`, i.address, ip, name)
}

const kubeconfig = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`

// emptyCluster is the API of a Kubernetes cluster that has nothing, and where nothing ever happens.
// Without it Istio's control plane does not start, though it takes all its configuration from files.
type emptyCluster struct{}

// ServeHTTP implements http.Handler.
func (emptyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet:
		refuse(w, http.StatusForbidden, "Forbidden")
	case r.URL.Path == "/version":
		answer(w, map[string]any{"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
	case query.Has("sendInitialEvents"): // it lists then
		refuse(w, http.StatusUnprocessableEntity, "Invalid")
	case query.Has("watch"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case isList(r.URL.Path):
		list := map[string]any{"metadata": map[string]string{"resourceVersion": "1"}, "items": []any{}}
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
		}
		answer(w, list)
	default:
		refuse(w, http.StatusNotFound, "NotFound")
	}
}

// isList reports whether a path is of all objects of a kind, and not of one.
func isList(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := map[string]int{"api": 2, "apis": 3}[parts[0]] // the version, and its group
	if skip == 0 || len(parts) <= skip {
		return false
	}
	if parts = parts[skip:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return len(parts) == 1
}

func answer(w io.Writer, what any) { _ = json.NewEncoder(w).Encode(what) }

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	answer(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code})
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}
