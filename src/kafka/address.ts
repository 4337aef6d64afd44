// Brings the text of a client's IP address into one form. It resolves no names.

/**
 * Returns the same text for the same address: IPv4 in IPv6 becomes IPv4, and IPv6 gets its shortest form. Returns a
 * text that is not an address unchanged.
 */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const isIPv6 = plain.includes(':') && URL.canParse(`http://[${plain}]`)
  return isIPv6 ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain
}
