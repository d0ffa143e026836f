// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
)

// retryPolicy is a service config with one retry policy.
func retryPolicy(fields string) string {
	return `{"methodConfig":[{"name":[{"service":"probe.Probe"}],"retryPolicy":{` + fields + `}}]}`
}

func throttling(fields string) string {
	return `{"retryThrottling":{` + fields + `},"methodConfig":[{"name":[{"service":"probe.Probe"}],"waitForReady":true}]}`
}

func methodConfig(fields string) string {
	return `{"methodConfig":[{"name":[{"service":"probe.Probe","method":"Unary"}],` + fields + `}]}`
}

const goodRetry = `"maxAttempts":3,"initialBackoff":"0.01s","maxBackoff":"0.1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]`

// serviceConfigs are texts of service configs.
var serviceConfigs = []struct{ name, text string }{
	{"empty text", ``},
	{"null", `null`},
	{"empty object", `{}`},
	{"array", `[]`},
	{"string", `"x"`},
	{"half", `{`},
	{"two", `{}{}`},
	{"unknown field", `{"nope":1}`},
	{"connection scaling", `{"connectionScaling":{"maxConnectionsPerSubchannel":4}}`},
	{"connection scaling string", `{"connectionScaling":"x"}`},
	{"connection scaling negative", `{"connectionScaling":{"maxConnectionsPerSubchannel":-1}}`},
	{"connection scaling fraction", `{"connectionScaling":{"maxConnectionsPerSubchannel":1.5}}`},
	{"method config null", `{"methodConfig":null}`},
	{"method config object", `{"methodConfig":{}}`},
	{"no name", `{"methodConfig":[{"waitForReady":true}]}`},
	{"empty name list", `{"methodConfig":[{"name":[],"waitForReady":true}]}`},
	{"default name", `{"methodConfig":[{"name":[{}],"waitForReady":true}]}`},
	{"null name", `{"methodConfig":[{"name":[null],"waitForReady":true}]}`},
	{"method without service", `{"methodConfig":[{"name":[{"method":"Unary"}]}]}`},
	{"duplicate name", `{"methodConfig":[{"name":[{"service":"a"},{"service":"a"}]}]}`},
	{"duplicate name in two", `{"methodConfig":[{"name":[{"service":"a"}]},{"name":[{"service":"a"}]}]}`},
	{"duplicate default", `{"methodConfig":[{"name":[{}]},{"name":[{"service":""}]}]}`},
	{"service of a wrong type", `{"methodConfig":[{"name":[{"service":1}]}]}`},
	{"service and method", `{"methodConfig":[{"name":[{"service":"probe.Probe"}],"waitForReady":true},{"name":[{"service":"probe.Probe","method":"Unary"}],"timeout":"3s"},{"name":[{}],"timeout":"9s"}]}`},
	{"slash in service", `{"methodConfig":[{"name":[{"service":"probe.Probe/Unary"}],"waitForReady":true}]}`},
	{"waitForReady string", methodConfig(`"waitForReady":"true"`)},
	{"waitForReady null", methodConfig(`"waitForReady":null`)},
	{"timeout 1s", methodConfig(`"timeout":"1s"`)},
	{"timeout 1.5s", methodConfig(`"timeout":"1.5s"`)},
	{"timeout nanoseconds", methodConfig(`"timeout":"0.000000001s"`)},
	{"timeout ten digits", methodConfig(`"timeout":"0.0000000001s"`)},
	{"timeout 0s", methodConfig(`"timeout":"0s"`)},
	{"timeout negative", methodConfig(`"timeout":"-1s"`)},
	{"timeout plus", methodConfig(`"timeout":"+1s"`)},
	{"timeout .5s", methodConfig(`"timeout":".5s"`)},
	{"timeout 1.s", methodConfig(`"timeout":"1.s"`)},
	{"timeout s", methodConfig(`"timeout":"s"`)},
	{"timeout .s", methodConfig(`"timeout":".s"`)},
	{"timeout -.5s", methodConfig(`"timeout":"-.5s"`)},
	{"timeout 1m", methodConfig(`"timeout":"1m"`)},
	{"timeout 1ms", methodConfig(`"timeout":"1ms"`)},
	{"timeout number", methodConfig(`"timeout":1`)},
	{"timeout null", methodConfig(`"timeout":null`)},
	{"timeout empty", methodConfig(`"timeout":""`)},
	{"timeout spaces", methodConfig(`"timeout":" 1s"`)},
	{"timeout exponent", methodConfig(`"timeout":"1e3s"`)},
	{"timeout largest", methodConfig(`"timeout":"315576000000s"`)},
	{"timeout too large", methodConfig(`"timeout":"315576000001s"`)},
	{"timeout beyond int64", methodConfig(`"timeout":"99999999999999999999s"`)},
	{"maxRequestMessageBytes", methodConfig(`"maxRequestMessageBytes":10`)},
	{"maxRequestMessageBytes string", methodConfig(`"maxRequestMessageBytes":"10"`)},
	{"maxRequestMessageBytes negative", methodConfig(`"maxRequestMessageBytes":-1`)},
	{"maxRequestMessageBytes float", methodConfig(`"maxRequestMessageBytes":1.5`)},
	{"maxRequestMessageBytes huge", methodConfig(`"maxRequestMessageBytes":9223372036854775807`)},
	{"maxResponseMessageBytes 0", methodConfig(`"maxResponseMessageBytes":0`)},
	{"maxResponseMessageBytes negative", methodConfig(`"maxResponseMessageBytes":-1`)},
	{"retry", retryPolicy(goodRetry)},
	{"retry empty", retryPolicy(``)},
	{"retry 1 attempt", retryPolicy(`"maxAttempts":1,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry 10 attempts", retryPolicy(`"maxAttempts":10,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry no codes", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":[]`)},
	{"retry no backoff", retryPolicy(`"maxAttempts":2,"maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry no max backoff", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry multiplier 0", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":0,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry multiplier negative", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":-1,"retryableStatusCodes":["UNAVAILABLE"]`)},
	{"retry code number", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":[14]`)},
	{"retry code number 99", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":[99]`)},
	{"retry code lower", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["unavailable"]`)},
	{"retry code unknown", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["NOPE"]`)},
	{"retry code CANCELED", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["CANCELED"]`)},
	{"retry code OK", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["OK"]`)},
	{"retry code twice", retryPolicy(`"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED","ABORTED"]`)},
	{"retry bad duration", retryPolicy(`"maxAttempts":2,"initialBackoff":"1","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED"]`)},
	{"retry negative duration", retryPolicy(`"maxAttempts":2,"initialBackoff":"-1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED"]`)},
	{"retry attempts string", retryPolicy(`"maxAttempts":"2","initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED"]`)},
	{"retry perAttemptRecvTimeout", retryPolicy(goodRetry + `,"perAttemptRecvTimeout":"1s"`)},
	{"retry and hedging", `{"methodConfig":[{"name":[{}],"retryPolicy":{` + goodRetry + `},"hedgingPolicy":{"maxAttempts":3}}]}`},
	{"hedging", methodConfig(`"hedgingPolicy":{"maxAttempts":3,"hedgingDelay":"0.1s","nonFatalStatusCodes":["UNAVAILABLE"]}`)},
	{"hedging empty", methodConfig(`"hedgingPolicy":{}`)},
	{"hedging 1 attempt", methodConfig(`"hedgingPolicy":{"maxAttempts":1}`)},
	{"hedging null", methodConfig(`"hedgingPolicy":null`)},
	{"hedging number", methodConfig(`"hedgingPolicy":1`)},
	{"hedging bad delay", methodConfig(`"hedgingPolicy":{"maxAttempts":3,"hedgingDelay":"x"}`)},
	{"hedging bad code", methodConfig(`"hedgingPolicy":{"maxAttempts":3,"nonFatalStatusCodes":["NOPE"]}`)},
	{"throttling", throttling(`"maxTokens":10,"tokenRatio":0.1`)},
	{"throttling 0", throttling(`"maxTokens":0,"tokenRatio":0.1`)},
	{"throttling 1000", throttling(`"maxTokens":1000,"tokenRatio":0.1`)},
	{"throttling 1001", throttling(`"maxTokens":1001,"tokenRatio":0.1`)},
	{"throttling negative", throttling(`"maxTokens":-1,"tokenRatio":0.1`)},
	{"throttling ratio 0", throttling(`"maxTokens":10,"tokenRatio":0`)},
	{"throttling ratio negative", throttling(`"maxTokens":10,"tokenRatio":-1`)},
	{"throttling empty", throttling(``)},
	{"throttling string", throttling(`"maxTokens":"10"`)},
	{"throttling 0 alone", `{"retryThrottling":{"maxTokens":0,"tokenRatio":0.1}}`},
	{"throttling 1001 alone", `{"retryThrottling":{"maxTokens":1001,"tokenRatio":0.1}}`},
	{"policy round_robin", `{"loadBalancingPolicy":"round_robin"}`},
	{"policy upper case", `{"loadBalancingPolicy":"ROUND_ROBIN"}`},
	{"policy unknown", `{"loadBalancingPolicy":"nope"}`},
	{"policy empty", `{"loadBalancingPolicy":""}`},
	{"policy number", `{"loadBalancingPolicy":1}`},
	{"lb config", `{"loadBalancingConfig":[{"round_robin":{}}]}`},
	{"lb config upper case", `{"loadBalancingConfig":[{"ROUND_ROBIN":{}}]}`},
	{"lb config empty", `{"loadBalancingConfig":[]}`},
	{"lb config null", `{"loadBalancingConfig":null}`},
	{"lb config object", `{"loadBalancingConfig":{"round_robin":{}}}`},
	{"lb config unknown", `{"loadBalancingConfig":[{"nope":{}}]}`},
	{"lb config unknown first", `{"loadBalancingConfig":[{"nope":{}},{"pick_first":{}}]}`},
	{"lb config two in one", `{"loadBalancingConfig":[{"round_robin":{},"pick_first":{}}]}`},
	{"lb config none in one", `{"loadBalancingConfig":[{}]}`},
	{"lb config and policy", `{"loadBalancingPolicy":"nope","loadBalancingConfig":[{"round_robin":{}}]}`},
	{"pick_first shuffle", `{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}`},
	{"pick_first shuffle string", `{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":"x"}}]}`},
	{"pick_first unknown field", `{"loadBalancingConfig":[{"pick_first":{"nope":true}}]}`},
	{"pick_first number", `{"loadBalancingConfig":[{"pick_first":1}]}`},
	{"health", `{"healthCheckConfig":{"serviceName":"x"}}`},
	{"health empty", `{"healthCheckConfig":{}}`},
	{"health number", `{"healthCheckConfig":{"serviceName":1}}`},
}

// serviceConfigProbes give each text to a channel, by its option and by a resolver. What
// is said of those that are refused is apart from whether they are.
func serviceConfigProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range serviceConfigs {
		out = append(out, probe.Probe{Name: c.name, Run: func(p *probe.P) {
			cc, rcc := resolving(p)
			_, err := grpc.NewClient("manual:///x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(c.text))
			p.Printf("accepted as the default: %v", err == nil)
			parsed := rcc.ParseServiceConfig(c.text)
			p.Printf("parsed: %v %v", parsed.Config != nil, parsed.Err == nil)
			err = rcc.UpdateState(resolver.State{
				Addresses:     []resolver.Address{{Addr: "127.0.0.1:1"}},
				ServiceConfig: parsed,
			})
			p.Printf("update: %s", rig.Err(err))
			for _, m := range []string{rig.Unary, rig.Bidi, "/other.Service/M", "probe.Probe/Unary", ""} {
				p.Printf("%q: %s", m, methodConfigText(cc.GetMethodConfig(m)))
			}
		}})
		out = append(out, probe.Probe{Name: "text/" + c.name, Run: func(p *probe.P) {
			_, rcc := resolving(p)
			p.Printf("%v", rcc.ParseServiceConfig(c.text).Err)
		}})
	}
	return out
}

// attemptsProbes ask how many attempts of a policy count.
var attemptsProbes = []probe.Probe{
	{Name: "WithMaxCallAttempts", Run: func(p *probe.P) {
		ten := strings.Replace(retryPolicy(goodRetry), `"maxAttempts":3`, `"maxAttempts":10`, 1)
		for _, n := range []int{0, 1, 2, 4, 20} {
			cc, r := manualChannel(p, grpc.WithMaxCallAttempts(n), grpc.WithDefaultServiceConfig(ten))
			r.InitialState(addresses(server(p)))
			p.Printf("%s", call(p.Context(), cc))
			p.Printf("%d: %s", n, methodConfigText(cc.GetMethodConfig(rig.Unary)))
		}
	}},
}

// resolving is a channel and what its resolver has of it.
func resolving(p *probe.P) (*grpc.ClientConn, resolver.ClientConn) {
	cc, r := manualChannel(p)
	built := make(chan resolver.ClientConn, 1)
	r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) { built <- rcc }
	r.InitialState(resolver.State{})
	cc.Connect()
	rcc := <-built
	probe.Settle(0) // what was said first has been heard, too
	return cc, rcc
}

func methodConfigText(mc grpc.MethodConfig) string {
	out := fmt.Sprintf("wait=%s timeout=%s req=%s resp=%s",
		deref(mc.WaitForReady), deref(mc.Timeout), deref(mc.MaxReqSize), deref(mc.MaxRespSize))
	if mc.RetryPolicy != nil {
		out += fmt.Sprintf(" retry=%+v", *mc.RetryPolicy)
	}
	return out
}

func deref[T any](v *T) string {
	if v == nil {
		return "nil"
	}
	return fmt.Sprint(*v)
}
