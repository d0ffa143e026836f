// SPDX-License-Identifier: Apache-2.0

package google

import (
	"context"
	"net"
	"net/url"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/credsmode"
)

// Names of the clusters of Google's front ends, which speak TLS: a plain name begins with
// frontEndPrefix; the name of an xDS resource (gRFC A47) has directpath's authority and a path
// that begins with frontEndPath.
const (
	frontEndPrefix    = "google_cfe_"
	frontEndAuthority = "traffic-director-c2p.xds.googleapis.com"
	frontEndPath      = "/envoy.config.cluster.v3.Cluster/" + frontEndPrefix
)

// clusterCreds use TLS or ALTS, depending on the cluster that the server's address belongs to.
type clusterCreds struct {
	tls, alts credentials.TransportCredentials
}

func newClusterCreds(tls, alts credentials.TransportCredentials) *clusterCreds {
	return &clusterCreds{tls: tls, alts: alts}
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *clusterCreds) ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	cluster := credsmode.Cluster(credentials.ClientHandshakeInfoFromContext(ctx).Attributes)
	if speaksTLS(cluster) {
		return c.tls.ClientHandshake(ctx, authority, rawConn)
	}
	return c.alts.ClientHandshake(ctx, authority, rawConn)
}

// speaksTLS reports whether the servers of an xDS cluster speak TLS. The name of the cluster is
// empty for servers that were not found through xDS; these speak TLS.
func speaksTLS(cluster string) bool {
	if cluster == "" || strings.HasPrefix(cluster, frontEndPrefix) {
		return true
	}
	if !strings.HasPrefix(cluster, "xdstp:") {
		return false
	}
	u, err := url.Parse(cluster)
	// A name that can't be parsed is not a front end's.
	return err == nil && u.Host == frontEndAuthority && strings.HasPrefix(u.Path, frontEndPath)
}

// ServerHandshake implements credentials.TransportCredentials: servers use TLS.
func (c *clusterCreds) ServerHandshake(rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.tls.ServerHandshake(rawConn)
}

// Info implements credentials.TransportCredentials. It describes TLS, because whether a
// connection uses TLS or ALTS is not known before the handshake.
func (c *clusterCreds) Info() credentials.ProtocolInfo { return c.tls.Info() }

// Clone implements credentials.TransportCredentials.
func (c *clusterCreds) Clone() credentials.TransportCredentials {
	return newClusterCreds(c.tls.Clone(), c.alts.Clone())
}

// OverrideServerName implements credentials.TransportCredentials.
func (c *clusterCreds) OverrideServerName(name string) error {
	if err := c.tls.OverrideServerName(name); err != nil {
		return err
	}
	return c.alts.OverrideServerName(name)
}
