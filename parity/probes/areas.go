// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"google.golang.org/grpc/parity/internal/probe"
)

// area is the probes of one file, or of a few.
type area struct {
	name   string
	probes []probe.Probe
}

// areas are all of them.
var areas = []area{
	{"options", slices.Concat(serverOptionProbes(), dialOptionProbes(), callOptionProbes())},
	{"config", slices.Concat(serviceConfigProbes(), attemptsProbes, attemptProbes)},
	{"status", slices.Concat(statusProbes, answerProbes())},
	{"metadata", metadataProbes},
	{"wire", slices.Concat(requestProbes(), limitProbes)},
	{"value", slices.Concat(valueProbes, targetProbes(), restProbes)},
	{"stats", slices.Concat(statsProbes(), wireLengthProbes(), eventProbes(), contextProbes(), exitProbes(), silentProbes, telemetryProbes(), gateProbes(), ownRPCProbes, connContextProbes(), targetLabelProbes)},
	{"server", slices.Concat(serverProbes, rowProbes(), handlerProbes, keepaliveProbes(), pauseProbes(), handshakeProbes())},
	{"security", slices.Concat(securityProbes, identityProbes(), authzProbes(), clientNameProbes())},
	{"service", slices.Concat(serviceProbes, channelzProbes, pageProbes(), httpProbes(), carrierProbes(), goneProbes(), brokenBodyProbes(),
		binaryLogProbes(), reflectionProbes(), healthProbes(), loadReportProbes(), warningProbes)},
	{"message", slices.Concat(compressionProbes(), codecProbes())},
	{"stream", slices.Concat(streamProbes, turnProbes, stageProbes(), orderProbes, haltProbes(), failureProbes(), sendingProbes(), earlyProbes(), lateProbes(), atOnceProbes())},
	{"channel", slices.Concat(resolverProbes, policyProbes(), subchannelProbes(), customProbes, stateProbes, lbProbes(), stumbleProbes(), scopeProbes(), updateProbes())},
	{"xds", slices.Concat(xdsProbes(), xdsRouteProbes(), xdsResourceProbes(), xdsActionProbes(), xdsRetries(), xdsServingProbes(), xdsGuardProbes(), xdsAskProbes(), hostProbes())},
	{"secret", slices.Concat(secretProbes(), lateTokenProbes(), fetchProbes())},
	{"edge", slices.Concat(edgeProbes(), moreEdges())},
	{"outsider", slices.Concat(nameProbes(), outsiderProbes(), nameKindProbes(), moreProxyProbes(), grpclbProbes(), routeLookupProbes())},
	{"report", reportProbes},
	{"wrap", slices.Concat(wrapEndProbes(), wrapFaultProbes(), wrapMiscProbes, socketProbes())},
}
