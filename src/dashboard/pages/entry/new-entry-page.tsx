import { useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DraftKey } from '../../lib/local-drafts.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan, useViewer } from '../../lib/viewer.tsx';
import { Failure, NotFound, Notice, Waiting } from '../../shell/states.tsx';
import { contentOf, entryQuery, templateContent } from './entry-query.ts';
import { type OpenedEditor, openEditor } from './open-editor.ts';
import { readEntry } from './save.ts';
import { Workbench } from './workbench.tsx';

/** An entry that is not made yet: empty, or a copy of another one. */
export function NewEntryPage() {
  const place = usePlace();
  const route = '/inside/p/$organization/$project/new/$collection';
  const { collection } = useParams({ from: route });
  const { from, slug: proposed } = useSearch({ from: route });
  const { data, fault, refresh } = usePageQuery(entryQuery(place, collection, undefined));
  const { t } = useTranslation('publish');
  const { me } = useViewer();
  const can = useCan(place.organization, place.project);
  const [opened, setOpened] = useState<OpenedEditor | null>(null);
  const isOpening = useRef(false);
  const studio = data?.project?.studio;
  const published = studio?.published?.nodes[0] ?? null;
  const branch = place.draft === undefined ? published : (studio?.draft ?? null);
  const template = studio?.collection?.template ?? null;
  useEffect(() => {
    if (!branch || isOpening.current) return;
    isOpening.current = true;
    const key: DraftKey = {
      user: String(me?.id ?? ''),
      project: `${place.organization}/${place.project}`,
      branch: branch.name,
      entry: `${collection}/${from === undefined ? '' : `?from=${from}&slug=${proposed ?? ''}`}`,
    };
    const open = async () => {
      const original =
        from === undefined ? null : await readEntry(place, { collection, slug: from, branch: branch.name }, false);
      const begin = original ? contentOf(original) : templateContent(template);
      const next = await openEditor(key, null, proposed ?? '', begin);
      if (!original && next.restored === 'none') next.editor.begun = begin;
      setOpened(next);
    };
    void open();
  }, [branch, collection, from, me?.id, place, proposed, template]);
  useEffect(() => () => void opened?.editor.keep(), [opened]);
  if (!can('edit_studio')) return <Notice title={t('save_never')} order={1} />;
  if (fault && !studio) return <Failure fault={fault} onRetry={refresh} order={1} />;
  if (studio && !studio.collection) return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <NotFound />;
  if (!opened || !studio?.collection) return <Waiting />;
  const { schema, label } = studio.collection;
  return (
    <Workbench
      opened={opened}
      place={place}
      collection={collection}
      slug={null}
      branch={branch}
      published={published}
      isGone={false}
      schema={schema}
      label={label}
      stored={null}
      news="none"
      dismissNews={() => {}}
      refresh={refresh}
    />
  );
}
