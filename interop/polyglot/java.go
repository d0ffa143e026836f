// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/interop/testcerts"
)

// javaCases are the cases of grpc-java's client that need neither a cloud nor a caching proxy.
var javaCases = []string{
	"empty_unary", "large_unary", "client_compressed_unary", "server_compressed_unary", "client_streaming",
	"client_compressed_streaming", "server_streaming", "server_compressed_streaming", "ping_pong", "empty_stream",
	"custom_metadata", "status_code_and_message", "special_status_message", "unimplemented_method",
	"unimplemented_service", "cancel_after_begin", "cancel_after_first_response", "timeout_on_sleeping_server",
	"very_large_request", "pick_first_unary", "rpc_soak", "channel_soak", "orca_per_rpc", "orca_oob",
}

// javaLoadPolicy makes the client read load reports, for the two cases orca_per_rpc and orca_oob.
const javaLoadPolicy = `--service_config_json={"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}`

const mavenDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

var javaPeer = &peer{
	name:   "grpc-java",
	tools:  []string{"java", "mvn"},
	build:  buildJava,
	server: javaServer,
	client: javaClient(),
	load:   javaLoad,
	certs:  javaCerts,
	without: map[string]string{
		"client_compressed_unary":     "the test server does not look at expect_compressed",
		"client_compressed_streaming": "the test server does not look at expect_compressed",
		"server_compressed_streaming": "the test server does not compress the replies of streams",
	},
}

// okhttpPeer is grpc-java's other transport. It has only a client.
var okhttpPeer = &peer{
	name:   "grpc-java-okhttp",
	tools:  javaPeer.tools,
	build:  buildJava,
	client: javaClient("--use_okhttp=true"),
	certs:  javaCerts,
}

func buildJava(ctx context.Context, w *workshop) error {
	if files, _ := filepath.Glob(w.path("java", "grpc-interop-testing-*.jar")); len(files) > 0 {
		return nil
	}
	return do(ctx, w.dir, nil, "mvn", "-B", "-q", "-f", filepath.Join(w.source, "java", "pom.xml"),
		mavenDependencies, "-DoutputDirectory="+w.path("java"))
}

func java(ctx context.Context, w *workshop, class string, args ...string) *exec.Cmd {
	args = append([]string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", w.path("java", "*"), "io.grpc.testing.integration." + class}, args...)
	return exec.CommandContext(ctx, "java", args...)
}

func javaServer(ctx context.Context, w *workshop, t target) *exec.Cmd {
	return java(ctx, w, "TestServiceServer", "--port="+strconv.Itoa(t.port), "--use_tls="+strconv.FormatBool(t.certs != nil))
}

func javaTarget(t target) []string {
	args := []string{"--server_host=" + t.host, "--server_port=" + strconv.Itoa(t.port), "--use_tls=" + strconv.FormatBool(t.certs != nil)}
	if t.certs != nil {
		args = append(args, "--use_test_ca=true", "--server_host_override="+t.certs.serverName)
	}
	return args
}

// javaClient returns a function that runs grpc-java's client, once for each case.
func javaClient(more ...string) func(context.Context, *workshop, target, []string) ([]result, error) {
	return func(ctx context.Context, w *workshop, t target, only []string) ([]result, error) {
		var results []result
		for _, name := range javaCases {
			if len(only) > 0 && !slices.Contains(only, name) {
				continue
			}
			args := append(javaTarget(t), "--test_case="+name, "--soak_per_iteration_max_acceptable_latency_ms=20000", "--soak_overall_timeout_seconds=60")
			if strings.HasPrefix(name, "orca_") {
				args = append(args, javaLoadPolicy)
			}
			out, log, err := output(ctx, java(ctx, w, "TestServiceClient", append(args, more...)...))
			if ctx.Err() != nil {
				return results, ctx.Err()
			}
			r := result{name: name, ok: err == nil}
			if err != nil {
				r.detail = fmt.Sprintf("%v %s %s", err, out, log)
			}
			results = append(results, r)
		}
		return results, nil
	}
}

var (
	soakSum    = regexp.MustCompile(`soak test ran: (\d+) / \d+ iterations. total failures: (\d+)`)
	soakFailed = regexp.MustCompile(`soak iteration: .* failed: (.*)`)
)

// javaLoad makes load with the case rpc_soak, which makes unary calls for some time. They are
// not wait-for-ready.
func javaLoad(ctx context.Context, w *workshop, t target, seconds float64) (outcomes, error) {
	const rate = 200 // calls a second
	n := strconv.Itoa(int(seconds * rate))
	_, log, err := output(ctx, java(ctx, w, "TestServiceClient", append(javaTarget(t),
		"--test_case=rpc_soak", "--soak_iterations="+n, "--soak_max_failures="+n, "--soak_num_threads=1",
		"--soak_min_time_ms_between_rpcs="+strconv.Itoa(1000/rate), "--soak_request_size=1000", "--soak_response_size=1000",
		"--soak_per_iteration_max_acceptable_latency_ms=20000",
		"--soak_overall_timeout_seconds="+strconv.Itoa(int(seconds)))...))
	sum := soakSum.FindStringSubmatch(log)
	if sum == nil {
		return nil, fmt.Errorf("no sum of the soak test: %w\n%s", err, log)
	}
	ran, _ := strconv.Atoi(sum[1])
	failed, _ := strconv.Atoi(sum[2])
	o := outcomes{"OK": ran - failed}
	for _, m := range soakFailed.FindAllStringSubmatch(log, -1) {
		o.add(m[1], 1)
	}
	return o, nil
}

// javaCerts returns the certificates that grpc-java's programs contain.
func javaCerts(w *workshop) (certificates, error) {
	jars, err := filepath.Glob(w.path("java", "grpc-testing-*.jar"))
	if err != nil || len(jars) != 1 {
		return certificates{}, errors.New("no jar of grpc-testing")
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		return certificates{}, err
	}
	defer jar.Close()
	dir := w.path("java", "certs")
	for _, name := range []string{"ca.pem", "server1.pem", "server1.key"} {
		if err := extract(&jar.Reader, "certs/"+name, filepath.Join(dir, name)); err != nil {
			return certificates{}, err
		}
	}
	return certificates{
		Files: testcerts.Files{
			CA:   filepath.Join(dir, "ca.pem"),
			Cert: filepath.Join(dir, "server1.pem"),
			Key:  filepath.Join(dir, "server1.key"),
		},
		serverName: "foo.test.google.fr",
	}, nil
}

func extract(jar *zip.Reader, name, to string) error {
	f, err := jar.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, f); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(b.String()), 0o600)
}
