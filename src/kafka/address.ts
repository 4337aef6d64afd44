// The text of a client's IP address. It resolves no names.

/**
 * The same text for the same address: IPv4 in IPv6 as IPv4, IPv6 shortest. A text that is not an address stays
 * unchanged.
 */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const isIPv6 = plain.includes(':') && URL.canParse(`http://[${plain}]`)
  return isIPv6 ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain
}
