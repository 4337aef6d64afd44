// Compares an answer with the model of it in operations.ts, so that the answer of another program, or of a broker with
// other shapes, breaks no page.

/**
 * Returns whether the value has the shape of the model. Text, number and boolean are models of their kind, and null is
 * one of everything. A list has one model for all its items. A member `name?` may be absent or null, and `*` is the
 * model of every member. Other members may be there.
 */
export function isLike(value: unknown, model: unknown): boolean {
  if (model === null) return true
  if (Array.isArray(model)) return Array.isArray(value) && value.every(item => isLike(item, model[0]))
  if (typeof model !== 'object') return typeof value === typeof model
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(model!).every(([name, each]) => {
    if (name === '*') return Object.values(value).every(member => isLike(member, each))
    const member: unknown = Object.getOwnPropertyDescriptor(value, name.replace('?', ''))?.value
    return (name.endsWith('?') && (member ?? null) === null) || (member !== undefined && isLike(member, each))
  })
}
