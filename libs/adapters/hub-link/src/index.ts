export { HttpHubLink, type HttpHubLinkOptions } from './http-hub-link.js';
