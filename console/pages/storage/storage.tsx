// The page Storage.

import { PageHead } from '../../parts/page.tsx'

export function Storage() {
  return <PageHead title="Storage" />
}
