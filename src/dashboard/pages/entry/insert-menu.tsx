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
  const [snippets, setSnippets] = useState<typeof import('./snippets.ts') | null>(null);
  const [own, setOwn] = useState<readonly SiteSnippet[] | null>(null);
  // What Markdown has can be put in though the site's own cannot be had.
  const open = () => {
    import('./snippets.ts').then(setSnippets, () => {});
    load().then(setOwn, () => setOwn([]));
  };
  // At once, the module being there: even an import of what is loaded would come after keys that are pressed next.
  const put = (act: (view: View, known: typeof import('./snippets.ts')) => void) =>
    withView((view) => snippets && act(view, snippets));
  return (
    <Menu position="bottom-end" width={280} onOpen={open} returnFocus={false}>
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
            disabled={snippets === null}
            onClick={put((view, { plainTemplates, putTemplate }) =>
              putTemplate(view, plainTemplates[one], view.state.selection.main),
            )}
          >
            {t(`block_${one}`)}
          </Menu.Item>
        ))}
        {own === null && <Loader size="xs" m="xs" />}
        {own !== null && own.length > 0 && <Menu.Label>{t('used_by_site')}</Menu.Label>}
        {own?.map((one) => (
          <Menu.Item
            key={`${one.kind} ${one.name}`}
            ff="monospace"
            disabled={snippets === null}
            onClick={put((view, { putSnippet }) => putSnippet(view, one, view.state.selection.main))}
          >
            {snippets?.labelOf(one) ?? one.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
