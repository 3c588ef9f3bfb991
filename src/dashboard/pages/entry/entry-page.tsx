import { useParams } from '@tanstack/react-router';
import { useRef } from 'react';
import type { EditedBranchFragment, EntryPageQuery } from '../../documents.ts';
import { entryTopic, useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { type Place, usePlace } from '../../lib/place.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { Failure, NotFound, Waiting } from '../../shell/states.tsx';
import { contentOf, entryQuery } from './entry-query.ts';
import type { StoredVersion } from './open-editor.ts';
import { readEntry } from './save.ts';
import { useOpenedEditor } from './use-editor.ts';
import { Workbench } from './workbench.tsx';

type Studio = NonNullable<NonNullable<EntryPageQuery['project']>['studio']>;

interface Answer {
  /** null: the draft is gone. */
  branch: EditedBranchFragment | null;
  published: EditedBranchFragment | null;
  entry: NonNullable<Studio['entry']> | null;
  collection: Studio['collection'];
}

/** What the page's answer is about; null while it is that of another address. */
function answerFor(studio: Studio | null | undefined, { draft }: Place, slug: string): Answer | null {
  if (!studio || (draft !== undefined && studio.draft === undefined)) return null;
  if (draft === undefined && studio.draft !== undefined) return null;
  if (studio.draft && studio.draft.name !== draft) return null;
  if (studio.entry && studio.entry.slug !== slug) return null;
  const published = studio.published?.nodes[0] ?? null;
  const branch = draft === undefined ? published : (studio.draft ?? null);
  return { branch, published, entry: studio.entry ?? null, collection: studio.collection };
}

async function storedVersion(
  place: Place,
  collection: string,
  entry: NonNullable<Studio['entry']>,
): Promise<StoredVersion> {
  const isCrlf = entry.eol === 'crlf';
  const faults = new Map(entry.faults?.map(({ field, message }) => [field.replace('/frontmatter', ''), message]));
  if (entry.error === null) return { sha: entry.sha, content: contentOf(entry), isCrlf, faults };
  const whole = await readEntry(place, { collection, slug: entry.slug, branch: place.draft ?? null }, true);
  return {
    sha: whole?.sha ?? entry.sha,
    content: contentOf({ ...entry, raw: whole?.raw ?? '' }),
    isCrlf,
    faults: new Map(),
  };
}

export function EntryPage() {
  const place = usePlace();
  const { collection, _splat: slug = '' } = useParams({
    from: '/inside/p/$organization/$project/content/$collection/$',
  });
  const { data, fault, isLoading, refresh } = usePageQuery(entryQuery(place, collection, slug));
  const { me } = useViewer();
  const last = useRef<Answer | null>(null);
  const studio = data?.project?.studio;
  const answer = answerFor(studio, place, slug);
  const branch = answer?.branch?.name ?? place.draft;
  const stored = answer?.entry ?? null;
  const isAnswered = answer !== null && branch !== undefined;

  const { opened, news, setNews } = useOpenedEditor({
    key: isAnswered
      ? {
          user: String(me?.id ?? ''),
          project: `${place.organization}/${place.project}`,
          branch,
          entry: `${collection}/${slug}`,
        }
      : null,
    stored,
    read: () => stored && storedVersion(place, collection, stored),
  });

  // Until the branch is known, its entry cannot be watched.
  useLive(branch === undefined ? [] : [entryTopic(branch, collection, slug)], (event) => {
    if (event === null || event.version === null || opened?.editor.isNews(event.version)) refresh();
  });

  if (!opened) {
    if (fault && !isLoading && !isAnswered) return <Failure fault={fault} onRetry={refresh} order={1} />;
    return <Waiting />;
  }
  // While another answer is on its way, and when the entry or its draft is gone, the form stays as it was.
  if (answer) last.current = { ...answer, collection: answer.collection ?? last.current?.collection ?? null };
  const shown = last.current ?? { branch: null, published: null, entry: null, collection: null };
  const hasText = opened.editor.sha !== null || opened.restored !== 'none';
  if (isAnswered && stored === null && !hasText) {
    if (fault && fault.code !== 'NOT_FOUND') return <Failure fault={fault} onRetry={refresh} order={1} />;
    return <NotFound />;
  }
  return (
    <Workbench
      key={opened.editor.key.entry}
      opened={opened}
      place={place}
      collection={collection}
      slug={slug}
      branch={shown.branch}
      published={shown.published}
      schema={shown.collection?.schema ?? null}
      label={shown.collection?.label ?? collection}
      stored={shown.entry}
      isGone={isAnswered && stored === null && opened.editor.movedFrom === null}
      news={news}
      dismissNews={() => setNews('none')}
      refresh={refresh}
    />
  );
}
