/** Opens what was deployed in another tab: of an environment, where something is live. */
import { Anchor, Button } from '@mantine/core';
import { IconExternalLink, IconWorld } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { EnvironmentPreview, type LiveSiteFragment } from '../documents.ts';
import { client } from '../lib/client.ts';
import type { Place } from '../lib/place.ts';
import classes from './open-site.module.css';

interface OpenButtonProps {
  /** What is opened. */
  name: string;
  /** Gets its address, which may open once only; null: there is nothing to see. */
  find: () => Promise<string | null>;
}

async function open(find: OpenButtonProps['find']): Promise<void> {
  // Opened at the click, since a window that comes later is blocked; the address is known after that.
  const tab = window.open('', '_blank');
  // Scripts of the site are its authors': without TLS nothing else keeps them from the tab that has opened it.
  if (tab) tab.opener = null;
  const url = await find();
  if (tab && url) tab.location.href = url;
  else tab?.close();
}

export function OpenButton({ name, find }: OpenButtonProps) {
  const { t } = useTranslation('site');
  return (
    <Button
      variant="default"
      leftSection={<IconExternalLink size={16} />}
      onClick={() => void open(find)}
      aria-label={t('open_of', { name })}
    >
      {t('open')}
    </Button>
  );
}

interface OpenSiteProps {
  place: Pick<Place, 'organization' | 'project'>;
  environment: LiveSiteFragment;
  /** Like a link, among others. */
  isPlain?: boolean;
}

/** Opens what an environment shows; nothing while it shows nothing. */
export function OpenSite({ place, environment, isPlain = false }: OpenSiteProps) {
  const { t } = useTranslation('publish');
  const { id, name, url, published_deployment_id } = environment;
  if (published_deployment_id === null) return null;
  const { organization, project } = place;
  const find = async () => {
    const variables = { organization, project, environment: id };
    const { data } = await client.query(EnvironmentPreview, variables, { requestPolicy: 'network-only' }).toPromise();
    return data?.project?.studio.environment?.preview?.url ?? url;
  };
  if (!isPlain) return <OpenButton name={name} find={find} />;
  return (
    <Anchor component="button" type="button" className={classes.open} onClick={() => void open(find)}>
      <IconWorld size={16} aria-hidden />
      {t('open_site')}
    </Anchor>
  );
}
