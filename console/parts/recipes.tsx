// A task as commands for terminals. They are loaded when a page first shows some, because few pages do.

import { lazyPart } from './lazy-part.tsx'
import { Skeleton } from './states.tsx'

export const Recipes = lazyPart(
  async () => (await import('./recipe-list.tsx')).RecipeList,
  <div className="w-full">
    <Skeleton rows={2} />
  </div>,
)
