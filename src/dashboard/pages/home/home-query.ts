import { Home, type HomeQuery, type HomeQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

export const homeQuery = ({ organization, project, draft }: Place): PageQuery<HomeQuery, HomeQueryVariables> => ({
  query: Home,
  variables: { organization, project, draft: draft ?? null },
});
