/** A menu of what can be put into the text: what Markdown has, and what the site's own texts use. */
import { ActionIcon, Loader, Menu, Tooltip } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SiteSnippet } from './snippets.ts';

type View = import('@codemirror/view').EditorView;

interface InsertMenuProps {
  withView: (act: (view: View) => void) => () => void;
  load: () => Promise<readonly SiteSnippet[]>;
  onLink: () => void;
  onImage: () => void;
}

export function InsertMenu({ withView, load, onLink, onImage }: InsertMenuProps) {
  const { t } = useTranslation('entry');
  const [known, setKnown] = useState<{ items: readonly SiteSnippet[]; labelOf: (one: SiteSnippet) => string } | null>(
    null,
  );
  const open = async () => {
    // What Markdown has can be put in though the site's own cannot be had.
    const none = { items: [], labelOf: () => '' };
    const own = Promise.all([load(), import('./snippets.ts')]);
    setKnown(await own.then(([items, { labelOf }]) => ({ items, labelOf })).catch(() => none));
  };
  const put = (act: (view: View, snippets: typeof import('./snippets.ts')) => void) =>
    withView(async (view) => act(view, await import('./snippets.ts')));
  return (
    <Menu position="bottom-end" width={280} onOpen={() => void open()} returnFocus={false}>
      <Tooltip label={t('insert')}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t('insert')}>
            <IconPlus size={16} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown mah={360} style={{ overflowY: 'auto' }}>
        <Menu.Item onClick={onLink}>{t('link_entry')}</Menu.Item>
        <Menu.Item onClick={onImage}>{t('insert_image')}</Menu.Item>
        {(['table', 'code', 'quote'] as const).map((one) => (
          <Menu.Item
            key={one}
            onClick={put((view, { plainTemplates, putTemplate }) =>
              putTemplate(view, plainTemplates[one], view.state.selection.main),
            )}
          >
            {t(`block_${one}`)}
          </Menu.Item>
        ))}
        {known === null && <Loader size="xs" m="xs" />}
        {known !== null && known.items.length > 0 && <Menu.Label>{t('used_by_site')}</Menu.Label>}
        {known?.items.map((one) => (
          <Menu.Item
            key={`${one.kind} ${one.name}`}
            ff="monospace"
            onClick={put((view, { putSnippet }) => putSnippet(view, one, view.state.selection.main))}
          >
            {known.labelOf(one)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
