export function FirstMinute(_: { readonly topic: string | null; readonly onLeave: () => void }) {
  return null
}
