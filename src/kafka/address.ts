// The text of a client's IP address. It resolves no names.

/** One text for one address: IPv4 in IPv6 as IPv4, IPv6 shortest. What is no address stays as it is. */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const isIPv6 = plain.includes(':') && URL.canParse(`http://[${plain}]`)
  return isIPv6 ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain
}
